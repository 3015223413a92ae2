// The changes: all of them, and one of them with its law, its pictures, its witnesses and its places.

let chosen = { group: -1, region: -1 }, isPicked = false;  // by the reader; until then all of the ribbon is in colour

const groupOrder = groups.map((_, k) => k).sort((a, b) => gain(groups[b]) - gain(groups[a]) || groups[b].regions.length - groups[a].regions.length);

function drawGroups() {
  for (const k of groupOrder) {
    const g = groups[k];
    const numbers = [plural(g.regions.length, 'place'), `${plural(g.nodesBefore, 'node')} → ${grouped(g.nodesAfter)}`, `${widthText(g.widthBefore)} → ${widthText(g.widthAfter)}`];
    $('groups').append(html('li', {}, html('button', { type: 'button', 'data-group': k, onclick: () => select(k, g.best, false) },
      html('span', { class: 'row' }, html('span', { class: 'dot', style: `background:${colour(g.kind)}` }), html('span', { class: 'what' }, g.title)),
      html('span', { class: 'numbers' }, numbers.join(' · ')))));
  }
}

function markRibbon() {
  $('ribbon').classList.toggle('picked', isPicked && groups.length > 1);
  const mine = chosen.group >= 0 ? new Set(groups[chosen.group].regions) : new Set();
  for (const seg of document.querySelectorAll('#ribbon .seg')) {
    const own = seg.dataset.regions === '' ? [] : seg.dataset.regions.split(' ').map(Number);
    seg.classList.toggle('on', isPicked && own.some(r => mine.has(r)));
    seg.classList.toggle('here', isPicked && own.includes(chosen.region));
  }
}

function select(group, region, byPicture) {
  isPicked = chosen.group >= 0;
  chosen = { group, region };
  for (const button of document.querySelectorAll('#groups button')) {
    const isOn = Number(button.dataset.group) === group;
    button.setAttribute('aria-pressed', isOn);
    if (isOn && byPicture) button.parentElement.parentElement.scrollTop = button.offsetTop - button.parentElement.parentElement.offsetTop - 40;
  }
  drawDetail();
  markRibbon();
  for (const view of views) view.show(region);
}

function drawDetail() {
  const g = groups[chosen.group], region = regions[chosen.region], law = laws[g.kind];
  const detail = $('detail');
  detail.style.borderTop = `4px solid ${colour(g.kind)}`;
  detail.replaceChildren(...[
    html('h3', {}, g.title[0].toUpperCase() + g.title.slice(1)),
    html('p', { class: 'formula' }, law.formula),
    html('p', { class: 'quiet' }, law.says),
    measuredText(region),
    html('h4', {}, shorter(placeName(region), 90)),
    html('div', { class: 'figures' }, figure('before', before, region.before, region.widthBefore, g.kind), figure('after', after, region.after, region.widthAfter, g.kind)),
    html('h4', {}, 'Why it is the same'), witnesses(region),
    places(g)].filter(Boolean));
}

// The gain of the best step, measured alone. Only the run has the interval; a certificate does not.
function measuredText(region) {
  const ratio = Math.max(0, ...region.steps.map(s => data.steps[s][2]));
  if (!ratio) return null;
  const known = run && run.regions ? run.regions.find(r => r.ratio === ratio) : null;
  const interval = known && known.low ? ` [${ratioText(known.low)}, ${ratioText(known.high)}]` : '';
  return html('p', { class: 'ratio' }, html('b', {}, `${ratioText(ratio)}×${interval}`), ' faster, measured alone', interval ? ' (95 % interval)' : '', '.');
}

function witnesses(region) {
  const steps = region.steps.map(s => data.steps[s]);
  const facts = sum(steps.map(s => s[3]));
  const words = data.is_pairing ? 'The values that leave it were proved equal, pair by pair, by two witnesses: '
    : region.steps.length ? `${steps.length === 1 ? 'One step was' : steps.length + ' steps were'} proved by two witnesses, each for all inputs: ` : 'These values depend only on constants and known sizes, and were computed exactly. ';
  const how = region.steps.length || data.is_pairing ? 'both sides, written as weighted sets of integer points, are the same sets; and both sides, computed at random points modulo a prime, are the same numbers.' : '';
  const about = facts ? ` ${plural(facts, 'fact')} about the bytes of constants ${facts === 1 ? 'was' : 'were'} used and checked on the bytes.` : '';
  const most = 8;
  return html('div', {}, html('p', {}, words + how + about),
    steps.length ? html('ol', { class: 'steps' }, steps.slice(0, most).map(s => html('li', {}, s[1] + (s[2] ? `, ${ratioText(s[2])}× measured alone` : '')))) : null,
    steps.length > most ? html('p', { class: 'quiet' }, `and ${steps.length - most} more; isomer explain lists them`) : null);
}

function places(g) {
  if (g.regions.length < 2) return null;
  const most = 300;
  const list = html('ul', { class: 'places' });
  for (const r of g.regions.slice(0, most))
    list.append(html('li', {}, html('button', { type: 'button', 'aria-pressed': r === chosen.region, onclick: () => { select(chosen.group, r, false); } },
      splitName(placeName(regions[r])), html('span', { class: 'time' }, `${widthText(regions[r].widthBefore)} → ${widthText(regions[r].widthAfter)}`))));
  return html('div', { class: 'screen-only' }, html('h4', {}, g.regions.length > most ? `The first ${most} of ${plural(g.regions.length, 'place')}` : `All ${g.regions.length} places`), list);
}

// The end of a long name matters most, so the beginning is cut.
function splitName(name) {
  const end = Math.max(0, name.length - 22);
  return html('span', { class: 'name', title: name }, html('span', {}, name.slice(0, end)), html('span', {}, name.slice(end)));
}
