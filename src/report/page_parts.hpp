// The style and the script of the page. Both small: the page must be readable without the script.
#pragma once

#include <string_view>

namespace loom::report {

inline constexpr std::string_view page_css = R"css(
:root{color-scheme:light dark;--ground:#fbfbfa;--card:#fff;--ink:#1d2329;--soft:#5d6872;--line:#e1e4e6;--good:#23866f;--note:#b26a00;--bad:#c22d3c;--accent:#3572b8}
@media(prefers-color-scheme:dark){:root{--ground:#14181c;--card:#1b2127;--ink:#e3e7ea;--soft:#96a2ad;--line:#2d353c;--good:#4cc3a5;--note:#e5a343;--bad:#f0707c;--accent:#7db1ea}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1240px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:44px 0 10px}
h3{font-size:1rem;margin:22px 0 6px}
p{max-width:75ch;margin:8px 0}
.soft{color:var(--soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:12px;margin:22px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
.card b{display:block;font-size:1.6rem;font-weight:650;line-height:1.2;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:.88rem}
.good{color:var(--good)}.note{color:var(--note)}.bad{color:var(--bad)}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px;overflow-x:auto}
figcaption{color:var(--soft);font-size:.88rem;margin-top:8px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:14px;margin:14px 0}
.scroll{overflow-x:auto;max-height:430px;overflow-y:auto;border:1px solid var(--line);border-radius:10px;background:var(--card);margin:12px 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;padding:6px 14px;border-bottom:1px solid var(--line);white-space:nowrap}
tr:last-child td{border-bottom:0}
th{position:sticky;top:0;background:var(--card);color:var(--soft);font-weight:600}
.n{text-align:right;font-variant-numeric:tabular-nums}
.js th[data-sort]{cursor:pointer}.js th[data-sort]:hover{color:var(--ink)}
th[aria-sort=ascending]::after{content:" \2191"}th[aria-sort=descending]::after{content:" \2193"}
ul.plain{list-style:none;padding:0;margin:8px 0}
ul.plain li{display:grid;grid-template-columns:1.6em 9.5em 1fr;padding:5px 0;border-bottom:1px solid var(--line)}
ul.plain li:last-child{border-bottom:0}
ul.words li{max-width:85ch;margin:4px 0;overflow-wrap:anywhere}
#tip{position:fixed;z-index:9;display:none;pointer-events:none;background:var(--ink);color:var(--ground);padding:6px 10px;border-radius:6px;font-size:.85rem;line-height:1.4;white-space:pre-line;max-width:46ch}
footer{margin-top:56px;color:var(--soft);font-size:.85rem;border-top:1px solid var(--line);padding-top:12px}
code{font:.92em ui-monospace,monospace}
@media(max-width:560px){ul.plain li{grid-template-columns:1.6em 1fr}ul.plain li span:last-child{grid-column:2}}
@media print{body{background:#fff}.scroll{max-height:none}}
)css";

inline constexpr std::string_view page_js = R"js(
(function(){
document.documentElement.classList.add('js');
// Tables: a click on a heading sorts by it.
document.querySelectorAll('th[data-sort]').forEach(function(th){th.tabIndex=0;
 function sort(){var table=th.closest('table'),body=table.tBodies[0],i=th.cellIndex,down=th.getAttribute('aria-sort')!=='descending';
  var number=th.dataset.sort==='number';
  Array.from(body.rows).map(function(row){var text=row.cells[i].textContent;return[number?parseFloat(text.replace(/,/g,'')):text,row]})
   .sort(function(a,b){return(number?a[0]-b[0]:a[0].localeCompare(b[0],undefined,{numeric:true}))*(down?-1:1)})
   .forEach(function(pair){body.appendChild(pair[1])});
  table.querySelectorAll('th').forEach(function(other){other.removeAttribute('aria-sort')});
  th.setAttribute('aria-sort',down?'descending':'ascending')}
 th.addEventListener('click',sort);th.addEventListener('keydown',function(e){if(e.key==='Enter')sort()})});
// Pictures: point at a switch to see its cables, or near a cable to see its load.
var tip=document.createElement('div');tip.id='tip';document.body.appendChild(tip);
function show(e,text){tip.textContent=text;tip.style.display='block';
 var x=e.clientX+14,y=e.clientY+14;if(x+tip.offsetWidth>innerWidth)x=e.clientX-tip.offsetWidth-10;
 if(y+tip.offsetHeight>innerHeight)y=e.clientY-tip.offsetHeight-10;tip.style.left=x+'px';tip.style.top=y+'px'}
function words(el){var t=el.querySelector('title');if(t){el.dataset.words=t.textContent;t.remove()}return el.dataset.words||''}
document.querySelectorAll('svg').forEach(function(svg){
 var wires=svg.querySelector('.wire'),lines=wires?Array.from(wires.querySelectorAll('[data-ends]')):[];
 var flat=lines.filter(function(l){return l.tagName==='line'}).map(function(l){return[+l.getAttribute('x1'),+l.getAttribute('y1'),+l.getAttribute('x2'),+l.getAttribute('y2'),l]});
 function clear(){if(wires){wires.classList.remove('lit');wires.querySelectorAll('.on').forEach(function(l){l.classList.remove('on')})}tip.style.display='none'}
 function light(list){clear();if(!wires)return;wires.classList.add('lit');list.forEach(function(l){l.classList.add('on')})}
 function nearest(e){var p=new DOMPoint(e.clientX,e.clientY).matrixTransform(svg.getScreenCTM().inverse()),best=null,d=36;
  flat.forEach(function(f){var dx=f[2]-f[0],dy=f[3]-f[1],t=((p.x-f[0])*dx+(p.y-f[1])*dy)/(dx*dx+dy*dy||1);if(t<0||t>1)return;
   var x=f[0]+t*dx-p.x,y=f[1]+t*dy-p.y,q=x*x+y*y;if(q<d){d=q;best=f[4]}});return best}
 svg.addEventListener('mousemove',function(e){var el=e.target.closest('[data-box],[data-ends],circle,rect');
  if(el&&el.dataset.box!==undefined){var b=el.dataset.box;light(lines.filter(function(l){return l.dataset.ends.split(' ').indexOf(b)>=0}));show(e,words(el));return}
  if(!el||el.dataset.ends===undefined){var near=nearest(e);if(near)el=near}
  if(!el){clear();return}
  if(el.dataset.ends!==undefined)light([el]);else clear();
  var text=words(el);if(text)show(e,text);else tip.style.display='none'});
 svg.addEventListener('mouseleave',clear)});
})();
)js";

}  // namespace loom::report
