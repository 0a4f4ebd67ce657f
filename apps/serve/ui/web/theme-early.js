// A classic script in the head, so that the page is never painted in the wrong colours first.
(function () {
  let choice = null;
  try { choice = localStorage.getItem('veloce.theme'); } catch { /* no storage: the system's choice */ }
  const dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
