/**
 * What runs in browsers. A page that is not seen keeps no connection, of which browsers have six for each server: it asks
 * what it has missed when it is seen again.
 */
export const client = `// Fairlead, [refresh]: loads this page again when files change. For development only.
(() => {
  const { src, dataset } = document.currentScript;
  const mark = "fairlead.refresh";
  if (window[Symbol.for(mark)]) return;
  window[Symbol.for(mark)] = true;
  let at = dataset.at, source, timer;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const open = () => {
    close();
    if (document.hidden) return;
    source = new EventSource(new URL("refresh.events?at=" + encodeURIComponent(at), src));
    source.onerror = () => {
      close();
      timer = setTimeout(open, 1000);
    };
    const on = (name, run) => source.addEventListener(name, (event) => {
      at = event.lastEventId;
      run(JSON.parse(event.data));
    });
    on("reload", reload);
    on("css", restyle);
    on("failed", (text) => console.error("Fairlead: " + text));
  };

  // A page that comes from somebody's cache as it was would be loaded again for ever.
  const reload = () => {
    try {
      if (sessionStorage[mark] === at) return;
      sessionStorage[mark] = at;
    } catch {}
    close();
    location.reload();
  };

  const replaced = new WeakSet();
  const pathOf = (link) => {
    try {
      const { origin, pathname } = new URL(link.href);
      return origin === location.origin ? decodeURIComponent(pathname) : undefined;
    } catch {}
  };
  const restyle = (paths) => {
    const links = [...document.querySelectorAll('link[rel~="stylesheet"]')].filter((link) => !replaced.has(link));
    if (!paths.every((path) => links.some((link) => pathOf(link) === path))) return reload();
    for (const link of links) {
      if (!paths.includes(pathOf(link))) continue;
      const next = link.cloneNode(), url = new URL(link.href);
      url.searchParams.set("fairlead", at);
      next.href = url;
      next.onload = next.onerror = () => link.remove();
      replaced.add(link);
      link.after(next);
    }
  };

  document.addEventListener("visibilitychange", open);
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
  open();
})();
`;
