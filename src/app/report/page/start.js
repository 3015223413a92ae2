// Draws the page.

drawHeadline();
drawRibbonText();
drawRibbon();
drawGroups();
drawGraphs();
if (groups.length) select(groupOrder[0], groups[groupOrder[0]].best, false);
else { $('changes-section').hidden = true; }
drawSearch();
drawOpaque();
drawCheck();
$('export').addEventListener('click', exportRibbon);
addEventListener('resize', () => { drawRibbon(); for (const view of views) view.draw(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { for (const view of views) view.draw(); });
performance.mark('isomer-drawn');
