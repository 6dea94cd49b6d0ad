! Every collective, blocking and not, with and without MPI_IN_PLACE, compared with results that are known.
#include "binding.h"
program collectives
#ifdef LOOM_WITH_mpi_f08
    use mpi_f08
#elif defined(LOOM_WITH_mpi)
    use mpi
#endif
    implicit none
#ifdef LOOM_WITH_mpif
    include 'mpif.h'
#endif
    ! How a collective is called: at once, or started beside all others and waited for.
    integer, parameter :: at_once = 1, started = 2
    integer :: me, ranks, e, wrong = 0, all_wrong, way, i

    call MPI_Init(e)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, e)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, e)
    do way = at_once, started
        call same_sizes(way)
        call lists(way)
        call reductions(way)
        call in_place(way)
        call neighbours(way)
    end do
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
        print '(a, i0, a, i0, 2a)', 'rank ', me, ', way ', way, ': ', what
    end subroutine

    ! What rank r holds at place i.
    elemental integer function held(r, i)
        integer, intent(in) :: r, i
        held = 1000*r + i
    end function

    subroutine same_sizes(how)
        integer, intent(in) :: how
        integer, asynchronous :: one(3), root_has(3*ranks), mine(3), every(3*ranks), out(3*ranks), in(3*ranks), gathered(3*ranks)
        REQUEST :: r(6)
        integer :: k, last
        last = ranks - 1
        one = [(held(me, k), k=1, 3)]
        if (me /= last) one = 0
        mine = 0
        every = 0
        gathered = 0
        root_has = [(held(7, k), k=1, 3*ranks)]
        out = [(held(me, k), k=1, 3*ranks)]
        if (how == at_once) then
            call MPI_Barrier(MPI_COMM_WORLD, e)
            call MPI_Bcast(one, 3, MPI_INTEGER, last, MPI_COMM_WORLD, e)
            call MPI_Scatter(root_has, 3, MPI_INTEGER, mine, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
            call MPI_Gather(out, 3, MPI_INTEGER, gathered, 3, MPI_INTEGER, last, MPI_COMM_WORLD, e)
            call MPI_Allgather(out, 3, MPI_INTEGER, every, 3, MPI_INTEGER, MPI_COMM_WORLD, e)
            call MPI_Alltoall(out, 3, MPI_INTEGER, in, 3, MPI_INTEGER, MPI_COMM_WORLD, e)
        else
            call MPI_Ibarrier(MPI_COMM_WORLD, r(1), e)
            call MPI_Ibcast(one, 3, MPI_INTEGER, last, MPI_COMM_WORLD, r(2), e)
            call MPI_Iscatter(root_has, 3, MPI_INTEGER, mine, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, r(3), e)
            call MPI_Igather(out, 3, MPI_INTEGER, gathered, 3, MPI_INTEGER, last, MPI_COMM_WORLD, r(4), e)
            call MPI_Iallgather(out, 3, MPI_INTEGER, every, 3, MPI_INTEGER, MPI_COMM_WORLD, r(5), e)
            call MPI_Ialltoall(out, 3, MPI_INTEGER, in, 3, MPI_INTEGER, MPI_COMM_WORLD, r(6), e)
            call MPI_Waitall(6, r, MPI_STATUSES_IGNORE, e)
            call check(all_null(r), 'requests after MPI_Waitall')
        end if
        call check(all([(one(k) == held(last, k), k=1, 3)]), 'bcast')
        call check(all([(mine(k) == held(7, 3*me + k), k=1, 3)]), 'scatter')
        if (me == last) call check(all([((gathered(3*i + k) == held(i, k), k=1, 3), i=0, last)]), 'gather')
        call check(all([((every(3*i + k) == held(i, k), k=1, 3), i=0, last)]), 'allgather')
        call check(all([((in(3*i + k) == held(i, 3*me + k), k=1, 3), i=0, last)]), 'alltoall')
    end subroutine

    ! Rank i has i + 1 elements, or sends i + j to rank j; blocks lie in reverse order.
    subroutine lists(how)
        integer, intent(in) :: how
        integer, parameter :: room = 64
        integer, asynchronous :: out(room), mine(room), root_has(room), gathered(room), every(room), in(room), in_w(room)
        integer :: counts(ranks), at(ranks), pairs(ranks), places(ranks), bytes(ranks)
        DATATYPE :: types(ranks)
        REQUEST :: r(5)
        integer :: k, j
        counts = [(i + 1, i=0, ranks - 1)]
        at = [(sum(counts(i + 1:)), i=1, ranks)]
        pairs = [(me + i, i=0, ranks - 1)]
        places = [(sum(pairs(i + 1:)), i=1, ranks)]
        bytes = 4*places
        types = MPI_INTEGER
        out = [(held(me, k), k=1, room)]
        root_has = [(held(7, k), k=1, room)]
        mine = 0
        gathered = 0
        every = 0
        in = 0
        in_w = 0
        if (how == at_once) then
            call MPI_Gatherv(out, me + 1, MPI_INTEGER, gathered, counts, at, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
            call MPI_Scatterv(root_has, counts, at, MPI_INTEGER, mine, me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
            call MPI_Allgatherv(out, me + 1, MPI_INTEGER, every, counts, at, MPI_INTEGER, MPI_COMM_WORLD, e)
            call MPI_Alltoallv(out, pairs, places, MPI_INTEGER, in, pairs, places, MPI_INTEGER, MPI_COMM_WORLD, e)
            call MPI_Alltoallw(out, pairs, bytes, types, in_w, pairs, bytes, types, MPI_COMM_WORLD, e)
        else
            call MPI_Igatherv(out, me + 1, MPI_INTEGER, gathered, counts, at, MPI_INTEGER, 0, MPI_COMM_WORLD, r(1), e)
            call MPI_Iscatterv(root_has, counts, at, MPI_INTEGER, mine, me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r(2), e)
            call MPI_Iallgatherv(out, me + 1, MPI_INTEGER, every, counts, at, MPI_INTEGER, MPI_COMM_WORLD, r(3), e)
            call MPI_Ialltoallv(out, pairs, places, MPI_INTEGER, in, pairs, places, MPI_INTEGER, MPI_COMM_WORLD, r(4), e)
            call MPI_Ialltoallw(out, pairs, bytes, types, in_w, pairs, bytes, types, MPI_COMM_WORLD, r(5), e)
            call MPI_Waitall(5, r, MPI_STATUSES_IGNORE, e)
        end if
        if (me == 0) call check(blocks_are(gathered), 'gatherv')
        call check(all([(mine(k) == held(7, at(me + 1) + k), k=1, me + 1)]), 'scatterv')
        call check(blocks_are(every), 'allgatherv')
        ! Rank j sends me the block behind those of the ranks after me.
        do j = 0, ranks - 1
            do k = 1, j + me
                call check(in(places(j + 1) + k) == held(j, sum([(j + i, i=me + 1, ranks - 1)]) + k), 'alltoallv')
            end do
        end do
        call check(all(in_w == in), 'alltoallw')
    end subroutine

    logical function blocks_are(found)
        integer, intent(in) :: found(:)
        integer :: j, k, place
        blocks_are = .true.
        place = 0
        do j = ranks - 1, 0, -1
            do k = 1, j + 1
                blocks_are = blocks_are .and. found(place + k) == held(j, k)
            end do
            place = place + j + 1
        end do
    end function

    subroutine reductions(how)
        integer, intent(in) :: how
        integer, asynchronous :: out(2*ranks), to_root(2), own(2), part(ranks), before(2), here(2*ranks), best(2), least(2)
        double precision, asynchronous :: real_out(2), real_in(2)
        complex, asynchronous :: complex_out, complex_in
        complex(kind=8), asynchronous :: wide_out, wide_in
        logical, asynchronous :: yes, everyone
        integer :: sizes(ranks), k, total
        REQUEST :: r(11)
        out = [(held(me, k), k=1, 2*ranks)]
        sizes = [(2, i=1, ranks)]
        real_out = [me + 0.5d0, -me - 0.5d0]
        complex_out = cmplx(1, 1)
        wide_out = cmplx(me, -me)
        yes = mod(me, 2) == 0
        best = [mod(me, 3), me]
        to_root = 0
        own = 0
        before = -1
        part = 0
        here = 0
        if (how == at_once) then
            call MPI_Reduce(out, to_root, 2, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD, e)
            call MPI_Allreduce(real_out, real_in, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, e)
            call MPI_Reduce_scatter(out, own, sizes, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
            call MPI_Reduce_scatter_block(out, part, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, e)
            call MPI_Scan(out, here, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
            call MPI_Exscan(out, before, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
            call MPI_Allreduce(complex_out, complex_in, 1, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, e)
            call MPI_Allreduce(yes, everyone, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, e)
            call MPI_Allreduce(best, least, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, e)
            call MPI_Allreduce(wide_out, wide_in, 1, MPI_COMPLEX16, MPI_SUM, MPI_COMM_WORLD, e)
        else
            call MPI_Ireduce(out, to_root, 2, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD, r(1), e)
            call MPI_Iallreduce(real_out, real_in, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, r(2), e)
            call MPI_Ireduce_scatter(out, own, sizes, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(3), e)
            call MPI_Ireduce_scatter_block(out, part, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, r(4), e)
            call MPI_Iscan(out, here, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(5), e)
            call MPI_Iexscan(out, before, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(6), e)
            call MPI_Iallreduce(complex_out, complex_in, 1, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, r(7), e)
            call MPI_Iallreduce(yes, everyone, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, r(8), e)
            call MPI_Iallreduce(best, least, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, r(9), e)
            call MPI_Iallreduce(wide_out, wide_in, 1, MPI_COMPLEX16, MPI_SUM, MPI_COMM_WORLD, r(10), e)
            r(11) = MPI_REQUEST_NULL
            call MPI_Waitall(11, r, MPI_STATUSES_IGNORE, e)
        end if
        total = 1000*(ranks*(ranks - 1)/2)
        if (me == ranks - 1) call check(all([(to_root(k) == total + ranks*k, k=1, 2)]), 'reduce')
        call check(all(real_in == [ranks - 0.5d0, -0.5d0]), 'allreduce of real numbers')
        call check(all([(own(k) == total + ranks*(2*me + k), k=1, 2)]), 'reduce_scatter')
        call check(part(1) == held(ranks - 1, 2*me + 1), 'reduce_scatter_block')
        call check(all([(here(k) == 1000*(me*(me + 1)/2) + (me + 1)*k, k=1, 2)]), 'scan')
        if (me > 0) call check(all([(before(k) == 1000*(me*(me - 1)/2) + me*k, k=1, 2)]), 'exscan')
        call check(complex_in == cmplx(1, 1)**ranks, 'allreduce of complex numbers')
        call check(wide_in == cmplx(ranks*(ranks - 1)/2, -ranks*(ranks - 1)/2), 'allreduce of wide complex numbers')
        call check(everyone .eqv. ranks == 1, 'allreduce of logicals')
        call check(least(1) == min(2, ranks - 1) .and. least(2) == min(2, ranks - 1), 'allreduce with MPI_MAXLOC')
    end subroutine

    ! Where the root alone is in place, or all are.
    subroutine in_place(how)
        integer, intent(in) :: how
        integer, asynchronous :: gathered(ranks), scattered(ranks), every(ranks), pairs(ranks), to_root(1), own(1), scanned(1)
        integer, asynchronous :: before(1), halves(ranks), listed(ranks), listed_pairs(ranks), typed(ranks), parts(ranks)
        integer :: ones(ranks), at(ranks), bytes(ranks), total
        DATATYPE :: types(ranks)
        REQUEST :: r(13)
        integer :: k
        ones = 1
        at = [(k, k=0, ranks - 1)]
        bytes = 4*at
        types = MPI_INTEGER
        gathered = held(me, 1)
        scattered = [(held(9, k), k=1, ranks)]
        every = held(me, 2)
        listed = held(me, 3)
        pairs = [(held(me, k), k=1, ranks)]
        listed_pairs = pairs
        typed = pairs
        to_root = me
        own = me + 1
        scanned = me
        before = me
        halves = [(me + k, k=1, ranks)]
        parts = halves
        if (how == at_once) then
            if (me == 0) then
                call MPI_Gather(MPI_IN_PLACE, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
                call MPI_Scatter(scattered, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
                call MPI_Reduce(MPI_IN_PLACE, to_root, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, e)
            else
                call MPI_Gather(gathered, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
                call MPI_Scatter(scattered, 1, MPI_INTEGER, scattered, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
                call MPI_Reduce(to_root, to_root, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, e)
            end if
            call MPI_Allgather(MPI_IN_PLACE, 1, MPI_INTEGER, every, 1, MPI_INTEGER, MPI_COMM_WORLD, e)
            call MPI_Allgatherv(MPI_IN_PLACE, 1, MPI_INTEGER, listed, ones, at, MPI_INTEGER, MPI_COMM_WORLD, e)
            call MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INTEGER, pairs, 1, MPI_INTEGER, MPI_COMM_WORLD, e)
            call MPI_Alltoallv(MPI_IN_PLACE, ones, at, MPI_INTEGER, listed_pairs, ones, at, MPI_INTEGER, MPI_COMM_WORLD, e)
            call MPI_Alltoallw(MPI_IN_PLACE, ones, bytes, types, typed, ones, bytes, types, MPI_COMM_WORLD, e)
            call MPI_Allreduce(MPI_IN_PLACE, own, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
            call MPI_Scan(MPI_IN_PLACE, scanned, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
            call MPI_Exscan(MPI_IN_PLACE, before, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
            call MPI_Reduce_scatter(MPI_IN_PLACE, halves, ones, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
            call MPI_Reduce_scatter_block(MPI_IN_PLACE, parts, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
        else
            if (me == 0) then
                call MPI_Igather(MPI_IN_PLACE, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r(1), e)
                call MPI_Iscatter(scattered, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r(2), e)
                call MPI_Ireduce(MPI_IN_PLACE, to_root, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, r(3), e)
            else
                call MPI_Igather(gathered, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r(1), e)
                call MPI_Iscatter(scattered, 1, MPI_INTEGER, scattered, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r(2), e)
                call MPI_Ireduce(to_root, to_root, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, r(3), e)
            end if
            call MPI_Iallgather(MPI_IN_PLACE, 1, MPI_INTEGER, every, 1, MPI_INTEGER, MPI_COMM_WORLD, r(4), e)
            call MPI_Iallgatherv(MPI_IN_PLACE, 1, MPI_INTEGER, listed, ones, at, MPI_INTEGER, MPI_COMM_WORLD, r(5), e)
            call MPI_Ialltoall(MPI_IN_PLACE, 1, MPI_INTEGER, pairs, 1, MPI_INTEGER, MPI_COMM_WORLD, r(6), e)
            call MPI_Ialltoallv(MPI_IN_PLACE, ones, at, MPI_INTEGER, listed_pairs, ones, at, MPI_INTEGER, MPI_COMM_WORLD, &
                                r(7), e)
            call MPI_Ialltoallw(MPI_IN_PLACE, ones, bytes, types, typed, ones, bytes, types, MPI_COMM_WORLD, r(8), e)
            call MPI_Iallreduce(MPI_IN_PLACE, own, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(9), e)
            call MPI_Iscan(MPI_IN_PLACE, scanned, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(10), e)
            call MPI_Iexscan(MPI_IN_PLACE, before, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(11), e)
            call MPI_Ireduce_scatter(MPI_IN_PLACE, halves, ones, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(12), e)
            call MPI_Ireduce_scatter_block(MPI_IN_PLACE, parts, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(13), e)
            call MPI_Waitall(13, r, MPI_STATUSES_IGNORE, e)
        end if
        total = ranks*(ranks - 1)/2
        if (me == 0) call check(all([(gathered(k) == held(k - 1, 1), k=1, ranks)]), 'gather in place')
        call check(scattered(1) == held(9, merge(1, me + 1, me == 0)), 'scatter in place')
        if (me == 0) call check(to_root(1) == total, 'reduce in place')
        call check(all([(every(k) == held(k - 1, 2), k=1, ranks)]), 'allgather in place')
        call check(all([(listed(k) == held(k - 1, 3), k=1, ranks)]), 'allgatherv in place')
        call check(all([(pairs(k) == held(k - 1, me + 1), k=1, ranks)]), 'alltoall in place')
        call check(all(listed_pairs == pairs), 'alltoallv in place')
        call check(all(typed == pairs), 'alltoallw in place')
        call check(own(1) == total + ranks, 'allreduce in place')
        call check(scanned(1) == me*(me + 1)/2, 'scan in place')
        if (me > 0) call check(before(1) == me*(me - 1)/2, 'exscan in place')
        call check(halves(1) == total + ranks*(me + 1), 'reduce_scatter in place')
        call check(parts(1) == total + ranks*(me + 1), 'reduce_scatter_block in place')
    end subroutine

    ! On a line of ranks without ends joined: the outer ones have a neighbour that is not there.
    subroutine neighbours(how)
        integer, intent(in) :: how
        COMM :: line
        logical :: periods(1)
        integer, asynchronous :: out(2), one(1), from(2), listed(2), pairs(2), listed_pairs(2), typed(2)
        integer :: ones(2), at(2), expected(2), swapped(2)
        integer(kind=MPI_ADDRESS_KIND) :: bytes(2)
        DATATYPE :: types(2)
        REQUEST :: r(5)
        periods = .false.
        call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], periods, .false., line, e)
        one = held(me, 1)
        out = [held(me, 1), held(me, 2)]
        ones = 1
        at = [0, 1]
        bytes = [0, 4]
        types = MPI_INTEGER
        from = -1
        listed = -1
        pairs = -1
        listed_pairs = -1
        typed = -1
        if (how == at_once) then
            call MPI_Neighbor_allgather(one, 1, MPI_INTEGER, from, 1, MPI_INTEGER, line, e)
            call MPI_Neighbor_allgatherv(one, 1, MPI_INTEGER, listed, ones, at, MPI_INTEGER, line, e)
            call MPI_Neighbor_alltoall(out, 1, MPI_INTEGER, pairs, 1, MPI_INTEGER, line, e)
            call MPI_Neighbor_alltoallv(out, ones, at, MPI_INTEGER, listed_pairs, ones, at, MPI_INTEGER, line, e)
#ifdef LOOM_ALLTOALLW_MISCOUNTS
            call MPI_Neighbor_alltoallv(out, ones, at, MPI_INTEGER, typed, ones, at, MPI_INTEGER, line, e)
#else
            call MPI_Neighbor_alltoallw(out, ones, bytes, types, typed, ones, bytes, types, line, e)
#endif
        else
            call MPI_Ineighbor_allgather(one, 1, MPI_INTEGER, from, 1, MPI_INTEGER, line, r(1), e)
            call MPI_Ineighbor_allgatherv(one, 1, MPI_INTEGER, listed, ones, at, MPI_INTEGER, line, r(2), e)
            call MPI_Ineighbor_alltoall(out, 1, MPI_INTEGER, pairs, 1, MPI_INTEGER, line, r(3), e)
            call MPI_Ineighbor_alltoallv(out, ones, at, MPI_INTEGER, listed_pairs, ones, at, MPI_INTEGER, line, r(4), e)
#ifdef LOOM_ALLTOALLW_MISCOUNTS
            call MPI_Ineighbor_alltoallv(out, ones, at, MPI_INTEGER, typed, ones, at, MPI_INTEGER, line, r(5), e)
#else
            call MPI_Ineighbor_alltoallw(out, ones, bytes, types, typed, ones, bytes, types, line, r(5), e)
#endif
            call MPI_Waitall(5, r, MPI_STATUSES_IGNORE, e)
        end if
        expected = [held(me - 1, 1), held(me + 1, 1)]
        swapped = [held(me - 1, 2), held(me + 1, 1)]
        if (me == 0) then
            expected(1) = -1
            swapped(1) = -1
        end if
        if (me == ranks - 1) then
            expected(2) = -1
            swapped(2) = -1
        end if
        call check(all(from == expected), 'neighbor_allgather')
        call check(all(listed == expected), 'neighbor_allgatherv')
        call check(all(pairs == swapped), 'neighbor_alltoall')
        call check(all(listed_pairs == swapped), 'neighbor_alltoallv')
        call check(all(typed == swapped), 'neighbor_alltoallw')
        call MPI_Comm_free(line, e)
    end subroutine

    logical function all_null(r)
        REQUEST, intent(in) :: r(:)
        integer :: k
        all_null = .true.
        do k = 1, size(r)
            all_null = all_null .and. r(k) == MPI_REQUEST_NULL
        end do
    end function

end program
