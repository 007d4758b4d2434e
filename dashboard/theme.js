// Runs before the first paint, so that the page does not flash in the other theme.
const kept = localStorage.getItem('theme');
if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
addEventListener('DOMContentLoaded', () =>
  document.getElementById('theme')?.addEventListener('click', () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === 'dark';
    document.documentElement.dataset.theme = isDark ? 'light' : 'dark';
    localStorage.setItem('theme', isDark ? 'light' : 'dark');
  }),
);
