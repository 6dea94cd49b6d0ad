! Requests of collectives in every wait and test beside those of messages, persistent ones, communicators of every
! constructor, operations of the program's own, and blocking calls while a collective is pending.
#include "binding.h"
module operations
    implicit none
contains
    ! Affine maps x -> a x + b, one after the other: the order matters. Numbers are small enough for 32 bits.
#ifdef LOOM_WITH_mpi_f08
    subroutine compose(left, right, count, kind)
        use mpi_f08
        use, intrinsic :: iso_c_binding
        type(c_ptr), value :: left, right
        integer :: count
        type(MPI_Datatype) :: kind
        integer, pointer :: l(:, :), r(:, :)
        integer :: i
        call c_f_pointer(left, l, [2, count])
        call c_f_pointer(right, r, [2, count])
#else
    subroutine compose(l, r, count, kind)
        integer :: count, kind
        integer :: l(2, count), r(2, count)
        integer :: i
#endif
        do i = 1, count
            r(2, i) = modulo(l(2, i)*r(1, i) + r(2, i), 1009)
            r(1, i) = modulo(l(1, i)*r(1, i), 1009)
        end do
    end subroutine
end module

program requests
#ifdef LOOM_WITH_mpi_f08
    use mpi_f08
#ifdef LOOM_WITH_openmpi
    use mpi_f08_ext
#endif
#elif defined(LOOM_WITH_mpi)
    use mpi
#ifdef LOOM_WITH_openmpi
    use mpi_ext
#endif
#endif
    use operations
    use, intrinsic :: iso_c_binding
    implicit none
#ifdef LOOM_WITH_mpif
    include 'mpif.h'
#endif
    integer, parameter :: tag = 7
    integer :: me, ranks, e, wrong = 0, all_wrong, level

    call MPI_Init_thread(MPI_THREAD_FUNNELED, level, e)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, e)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, e)
    call waits
    call lists_of_requests
    call persistent
    call communicators
    call between_groups
    call own_operations
    call messages
    call absolute_addresses
    call windows_and_files
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
    if (me == 0 .and. all_wrong == 0) print '(a)', 'all right'
    call MPI_Finalize(e)
    if (all_wrong /= 0) stop 1

contains

    subroutine check(good, what)
        logical, intent(in) :: good
        character(len=*), intent(in) :: what
        if (good) return
        wrong = wrong + 1
        print '(a, i0, 2a)', 'rank ', me, ': ', what
    end subroutine

    ! One request at a time, with a status and without.
    subroutine waits
        REQUEST :: r
        ONE_STATUS(status)
        integer, asynchronous :: x
        logical :: flag
        x = 1
        call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, e)
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        call check(x == ranks .and. r == MPI_REQUEST_NULL, 'MPI_Wait without status')
        call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, e)
        call MPI_Wait(r, status, e)
        call check(x == ranks*ranks, 'MPI_Wait with status')
        x = 1
        call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, e)
        flag = .false.
        do while (.not. flag)
            call MPI_Request_get_status(r, flag, status, e)
        end do
        call check(x == ranks .and. r /= MPI_REQUEST_NULL, 'MPI_Request_get_status')
        flag = .false.
        do while (.not. flag)
            call MPI_Test(r, flag, status, e)
        end do
        call check(r == MPI_REQUEST_NULL, 'MPI_Test')
        call MPI_Ibarrier(MPI_COMM_WORLD, r, e)
        flag = .false.
        do while (.not. flag)
            call MPI_Test(r, flag, MPI_STATUS_IGNORE, e)
        end do
    end subroutine

    ! A collective, nothing, a message from the left and one to the right.
    subroutine start_four(r, x, got, sent)
        REQUEST, intent(inout) :: r(4)
        integer, asynchronous, intent(inout) :: x, got, sent
        x = me
        got = -1
        sent = me
        call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(1), e)
        r(2) = MPI_REQUEST_NULL
        call MPI_Irecv(got, 1, MPI_INTEGER, modulo(me - 1, ranks), tag, MPI_COMM_WORLD, r(3), e)
        call MPI_Isend(sent, 1, MPI_INTEGER, modulo(me + 1, ranks), tag, MPI_COMM_WORLD, r(4), e)
    end subroutine

    logical function four_are_right(r, x, got)
        REQUEST, intent(in) :: r(4)
        integer, intent(in) :: x, got
        integer :: k
        four_are_right = x == ranks*(ranks - 1)/2 .and. got == modulo(me - 1, ranks)
        do k = 1, 4
            four_are_right = four_are_right .and. r(k) == MPI_REQUEST_NULL
        end do
    end function

    subroutine lists_of_requests
        REQUEST :: r(4)
        STATUSES(statuses, 4)
        ONE_STATUS(status)
        integer, asynchronous :: x, got, sent
        integer :: which(4), k, found, index
        logical :: flag, seen(4)
        call start_four(r, x, got, sent)
        call MPI_Waitall(4, r, statuses, e)
        call check(four_are_right(r, x, got), 'MPI_Waitall')
        call check(TAG_IN(statuses, 3) == tag, 'statuses of MPI_Waitall')

        call start_four(r, x, got, sent)
        flag = .false.
        do while (.not. flag)
            call MPI_Testall(4, r, flag, statuses, e)
        end do
        call check(four_are_right(r, x, got), 'MPI_Testall')
        call check(TAG_IN(statuses, 3) == tag, 'statuses of MPI_Testall')
        call start_four(r, x, got, sent)
        flag = .false.
        do while (.not. flag)
            call MPI_Testall(4, r, flag, MPI_STATUSES_IGNORE, e)
        end do
        call check(four_are_right(r, x, got), 'MPI_Testall without statuses')

        call start_four(r, x, got, sent)
        seen = .false.
        do k = 1, 3
            call MPI_Waitany(4, r, index, status, e)
            call check(index >= 1 .and. index <= 4, 'index of MPI_Waitany')
            seen(index) = .true.
            if (index == 3) call check(TAG_OF(status) == tag, 'status of MPI_Waitany')
        end do
        call check(four_are_right(r, x, got) .and. all(seen .eqv. [.true., .false., .true., .true.]), 'MPI_Waitany')
        call MPI_Waitany(4, r, index, MPI_STATUS_IGNORE, e)
        call check(index < 1, 'MPI_Waitany of nothing')

        call start_four(r, x, got, sent)
        seen = .false.
        do while (count(seen) < 3)
            call MPI_Testany(4, r, index, flag, status, e)
            if (.not. flag) cycle
            seen(index) = .true.
        end do
        call check(four_are_right(r, x, got) .and. .not. seen(2), 'MPI_Testany')
        call MPI_Testany(4, r, index, flag, MPI_STATUS_IGNORE, e)
        call check(index < 1 .and. flag, 'MPI_Testany of nothing')

        call start_four(r, x, got, sent)
        seen = .false.
        do while (count(seen) < 3)
            call MPI_Waitsome(4, r, found, which, statuses, e)
            do k = 1, found
                seen(which(k)) = .true.
                if (which(k) == 3) call check(TAG_IN(statuses, k) == tag, 'statuses of MPI_Waitsome')
            end do
        end do
        call check(four_are_right(r, x, got) .and. .not. seen(2), 'MPI_Waitsome')
        call MPI_Waitsome(4, r, found, which, MPI_STATUSES_IGNORE, e)
        call check(found == MPI_UNDEFINED, 'MPI_Waitsome of nothing')

        call start_four(r, x, got, sent)
        seen = .false.
        do while (count(seen) < 3)
            call MPI_Testsome(4, r, found, which, MPI_STATUSES_IGNORE, e)
            do k = 1, found
                seen(which(k)) = .true.
            end do
        end do
        call check(four_are_right(r, x, got) .and. .not. seen(2), 'MPI_Testsome')
        call MPI_Waitall(0, r, MPI_STATUSES_IGNORE, e)
    end subroutine

    subroutine persistent
        REQUEST :: r(4)
        integer, asynchronous :: x, y, out(ranks), in(ranks)
        integer :: counts(ranks), bytes(ranks), k, turn
        DATATYPE :: types(ranks)
        counts = 1
        bytes = [(4*k, k=0, ranks - 1)]
        types = MPI_INTEGER
        call MPI_Bcast_init(x, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, r(1), e)
        call MPI_Allreduce_init(MPI_IN_PLACE, y, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, r(2), e)
        call MPI_Alltoallw_init(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, r(3), e)
        call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, r(4), e)
        do turn = 1, 3
            x = merge(turn, 0, me == 0)
            y = turn*me
            out = [(100*me + k + turn, k=1, ranks)]
            if (turn == 1) then
                do k = 1, 4
                    call MPI_Start(r(k), e)
                end do
            else
                call MPI_Startall(4, r, e)
            end if
            call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, e)
            call check(x == turn .and. y == turn*ranks*(ranks - 1)/2, 'persistent bcast and allreduce')
            call check(all(in == [(100*(k - 1) + me + 1 + turn, k=1, ranks)]), 'persistent alltoallw')
            call check(r(1) /= MPI_REQUEST_NULL, 'a persistent request stays')
        end do
        do k = 1, 4
            call MPI_Request_free(r(k), e)
            call check(r(k) == MPI_REQUEST_NULL, 'a persistent request is freed')
        end do
    end subroutine

    ! That it works, by a sum of the ranks of MPI_COMM_WORLD; then it goes.
    subroutine try(comm, expected, what)
        COMM, intent(inout) :: comm
        integer, intent(in) :: expected
        character(len=*), intent(in) :: what
        REQUEST :: r(2)
        integer, asynchronous :: x, y
        x = me
        y = me
        call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, comm, r(1), e)
        call MPI_Iallreduce(MPI_IN_PLACE, y, 1, MPI_INTEGER, MPI_SUM, comm, r(2), e)
        call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, e)
        call check(x == expected .and. y == expected, what)
        call MPI_Comm_free(comm, e)
        call check(comm == MPI_COMM_NULL, what)
    end subroutine

    subroutine communicators
        COMM :: made, grid
        GROUP :: world
        REQUEST :: r
        integer :: whole, same, k, left(1), right(1)
        logical :: periods(2), remain(2)
        whole = ranks*(ranks - 1)/2
        same = sum([(k, k=mod(me, 2), ranks - 1, 2)])
        call MPI_Comm_dup(MPI_COMM_WORLD, made, e)
        call try(made, whole, 'MPI_Comm_dup')
        call MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, made, e)
        call try(made, whole, 'MPI_Comm_dup_with_info')
        call MPI_Comm_idup(MPI_COMM_WORLD, made, r, e)
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        call try(made, whole, 'MPI_Comm_idup')
        call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), -me, made, e)
        call try(made, same, 'MPI_Comm_split')
        call MPI_Comm_split(MPI_COMM_WORLD, merge(MPI_UNDEFINED, 1, me == 0), 0, made, e)
        if (me == 0) then
            call check(made == MPI_COMM_NULL, 'MPI_Comm_split with MPI_UNDEFINED')
        else
            call try(made, whole, 'MPI_Comm_split')
        end if
        call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made, e)
        call try(made, whole, 'MPI_Comm_split_type')
        call MPI_Comm_group(MPI_COMM_WORLD, world, e)
        call MPI_Comm_create(MPI_COMM_WORLD, world, made, e)
        call try(made, whole, 'MPI_Comm_create')
        call MPI_Comm_create_group(MPI_COMM_WORLD, world, 3, made, e)
        call try(made, whole, 'MPI_Comm_create_group')
        call MPI_Group_free(world, e)
        periods = [.true., .false.]
        remain = [.true., .false.]
        call MPI_Cart_create(MPI_COMM_WORLD, 2, [ranks, 1], periods, .false., grid, e)
        call MPI_Cart_sub(grid, remain, made, e)
        call try(made, whole, 'MPI_Cart_sub')
        call try(grid, whole, 'MPI_Cart_create')
        call MPI_Graph_create(MPI_COMM_WORLD, ranks, [(k, k=1, ranks)], [(modulo(k, ranks), k=1, ranks)], .false., made, e)
        call try(made, whole, 'MPI_Graph_create')
        left = modulo(me - 1, ranks)
        right = modulo(me + 1, ranks)
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED, &
                                            MPI_INFO_NULL, .false., made, e)
        call ask_left(made, left(1), 'MPI_Dist_graph_create_adjacent')
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, [3], 1, right, [4], MPI_INFO_NULL, .false., made, e)
        call ask_left(made, left(1), 'MPI_Dist_graph_create_adjacent with weights')
        call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [me], [1], right, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., made, e)
        call ask_left(made, left(1), 'MPI_Dist_graph_create')
    end subroutine

    subroutine ask_left(ring, left, what)
        COMM, intent(inout) :: ring
        integer, intent(in) :: left
        character(len=*), intent(in) :: what
        REQUEST :: r
        integer, asynchronous :: mine, got, typed
        integer(kind=MPI_ADDRESS_KIND) :: at(1)
        DATATYPE :: types(1)
        mine = 10*me
        got = -1
        typed = -1
        at = 0
        types = MPI_INTEGER
        call MPI_Ineighbor_allgather(mine, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, r, e)
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        call MPI_Neighbor_alltoallw(mine, [1], at, types, typed, [1], at, types, ring, e)
        call check(got == 10*left .and. typed == 10*left, what)
        call try(ring, ranks*(ranks - 1)/2, what)
    end subroutine

    ! Rank 0 on one side, the others on the other.
    subroutine between_groups
        COMM :: mine, inter, both
        REQUEST :: r
        integer, asynchronous :: x, y
        integer, asynchronous :: listed(ranks), typed(ranks)
        integer :: side, k, theirs
        DATATYPE :: types(ranks)
        if (ranks == 1) return
        side = merge(0, 1, me == 0)
        call MPI_Comm_split(MPI_COMM_WORLD, side, me, mine, e)
        call MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - side, 11, inter, e)
        x = me
        y = -1
        call MPI_Iallreduce(x, y, 1, MPI_INTEGER, MPI_SUM, inter, r, e)
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        call check(y == merge(ranks*(ranks - 1)/2, 0, me == 0), 'MPI_Iallreduce between groups')
#ifndef LOOM_ALLTOALLW_MISCOUNTS
        theirs = merge(ranks - 1, 1, me == 0)
        listed = [(100*me + k, k=1, ranks)]
        typed = -1
        types = MPI_INTEGER
        call MPI_Ialltoallw(listed, [(1, k=1, theirs)], [(4*k, k=0, theirs - 1)], types, typed, [(1, k=1, theirs)], &
                            [(4*k, k=0, theirs - 1)], types, inter, r, e)
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        if (me == 0) then
            call check(all(typed(1:theirs) == [(100*k + 1, k=1, theirs)]), 'MPI_Ialltoallw between groups')
        else
            call check(typed(1) == me, 'MPI_Ialltoallw between groups')
        end if
#endif
        call MPI_Intercomm_merge(inter, side == 1, both, e)
        call try(both, ranks*(ranks - 1)/2, 'MPI_Intercomm_merge')
        call MPI_Comm_free(inter, e)
        call MPI_Comm_disconnect(mine, e)
        call check(mine == MPI_COMM_NULL, 'MPI_Comm_disconnect')
    end subroutine

    ! Of elements of a type of the program's own; both are freed while the operation needs them.
    subroutine own_operations
        OPERATION :: op
        DATATYPE :: pair
        REQUEST :: r
        integer, asynchronous :: maps(2, 5), result(2, 5)
        integer :: expected(2, 5), other(2, 5), k, i
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, e)
        call MPI_Type_commit(pair, e)
        call MPI_Op_create(compose, .false., op, e)
        maps = reshape([(me + k, k=2, 11)], [2, 5])
        call MPI_Iallreduce(maps, result, 5, pair, op, MPI_COMM_WORLD, r, e)
        call MPI_Op_free(op, e)
        call MPI_Type_free(pair, e)
        call check(op == MPI_OP_NULL .and. pair == MPI_DATATYPE_NULL, 'freed while pending')
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        expected = reshape([(k, k=2, 11)], [2, 5])
        do i = 1, ranks - 1
            other = reshape([(i + k, k=2, 11)], [2, 5])
            do k = 1, 5
                expected(2, k) = modulo(expected(2, k)*other(1, k) + other(2, k), 1009)
                expected(1, k) = modulo(expected(1, k)*other(1, k), 1009)
            end do
        end do
        call check(all(result == expected), 'an operation that does not commute')
    end subroutine

    ! Blocking calls between a broadcast's start and its end. Everybody must get through them before the root starts.
    subroutine messages
        REQUEST :: r
        MESSAGE :: probed
        ONE_STATUS(status)
        integer, asynchronous :: x
        integer :: right, left, got, both
        logical :: flag
        right = modulo(me + 1, ranks)
        left = modulo(me - 1, ranks)
        x = merge(77, 0, me == 0)
        if (me /= 0) call MPI_Ibcast(x, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r, e)
        got = -1
        call MPI_Sendrecv(me, 1, MPI_INTEGER, right, 1, got, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status, e)
        call check(got == left .and. SOURCE_OF(status) == left, 'MPI_Sendrecv')
        both = me
        call MPI_Sendrecv_replace(both, 1, MPI_INTEGER, right, 2, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
        call check(both == left, 'MPI_Sendrecv_replace')
        if (ranks > 1) then
            if (me == 0) call MPI_Send(5, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, e)
            call MPI_Probe(left, 3, MPI_COMM_WORLD, status, e)
            call check(TAG_OF(status) == 3 .and. SOURCE_OF(status) == left, 'MPI_Probe')
            call MPI_Recv(got, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, status, e)
            call check(got == 5 .and. TAG_OF(status) == 3, 'MPI_Recv')
            if (me /= 0) call MPI_Send(5, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, e)
            if (me == 0) call MPI_Ssend(6, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, e)
            call MPI_Mprobe(left, 4, MPI_COMM_WORLD, probed, status, e)
            call MPI_Mrecv(got, 1, MPI_INTEGER, probed, MPI_STATUS_IGNORE, e)
            call check(got == 6 .and. probed == MPI_MESSAGE_NULL, 'MPI_Mrecv')
            if (me /= 0) call MPI_Ssend(6, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, e)
        end if
        call MPI_Iprobe(left, 99, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, e)
        call check(.not. flag, 'MPI_Iprobe')
        call MPI_Improbe(left, 99, MPI_COMM_WORLD, flag, probed, status, e)
        call check(.not. flag, 'MPI_Improbe')
        if (me == 0) call MPI_Ibcast(x, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r, e)
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        call check(x == 77, 'a broadcast beside messages')
    end subroutine

    subroutine absolute_addresses
        DATATYPE :: both
        REQUEST :: r
        integer, asynchronous :: x, y
        integer(kind=MPI_ADDRESS_KIND) :: at(2)
        x = merge(3, 0, me == 0)
        y = merge(4, 0, me == 0)
        call MPI_Get_address(x, at(1), e)
        call MPI_Get_address(y, at(2), e)
        call MPI_Type_create_hindexed(2, [1, 1], at, MPI_INTEGER, both, e)
        call MPI_Type_commit(both, e)
        call MPI_Ibcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD, r, e)
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        call check(x == 3 .and. y == 4, 'MPI_BOTTOM')
        call MPI_Type_free(both, e)
    end subroutine

    ! Calls in which MPI waits by itself, while a collective is pending. Open MPI makes no windows for one
    ! rank, and MPICH 4.0 puts what is written to them elsewhere.
    subroutine windows_and_files
        REQUEST :: r
        WINDOW :: window
        FILEHANDLE :: file
        integer, target, volatile :: shared
        integer, asynchronous :: x
        type(c_ptr) :: place
        integer, pointer :: cell
        character(len=200) :: name
        x = 1
        shared = -1
        call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, e)
#ifdef LOOM_WITH_openmpi
        if (ranks > 1) then
            call MPI_Win_create(shared, 4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, e)
            call MPI_Win_fence(0, window, e)
            call MPI_Put(me, 1, MPI_INTEGER, modulo(me + 1, ranks), 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window, e)
            call MPI_Win_fence(0, window, e)
            call check(shared == modulo(me - 1, ranks), 'MPI_Win_fence')
            call MPI_Win_free(window, e)
            call check(window == MPI_WIN_NULL, 'MPI_Win_free')
        end if
#endif
#ifdef LOOM_WITH_mpi_f08
        if (ranks > 1) then
            call MPI_Win_allocate(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, place, window, e)
            call c_f_pointer(place, cell)
            cell = me
            call MPI_Win_lock_all(0, window, e)
            call MPI_Win_flush_all(window, e)
            call MPI_Win_unlock_all(window, e)
            call MPI_Win_free(window, e)
        end if
#endif
        call get_command_argument(1, name)
        call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, e)
        call check(e == MPI_SUCCESS, 'MPI_File_open')
        call MPI_File_close(file, e)
        call check(file == MPI_FILE_NULL, 'MPI_File_close')
        call MPI_Wait(r, MPI_STATUS_IGNORE, e)
        call check(x == ranks, 'an allreduce beside windows and files')
    end subroutine

end program
