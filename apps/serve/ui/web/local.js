// localStorage that may not be there (private windows, blocked by policy): then it lasts as long as the page.
const memory = new Map();

export function readLocal(name) {
  try { return localStorage.getItem('veloce.' + name) ?? memory.get(name) ?? null; } catch { return memory.get(name) ?? null; }
}

export function writeLocal(name, value) {
  memory.set(name, value);
  try {
    if (value === null) localStorage.removeItem('veloce.' + name);
    else localStorage.setItem('veloce.' + name, value);
  } catch { /* kept in memory */ }
  if (value === null) memory.delete(name);
}
