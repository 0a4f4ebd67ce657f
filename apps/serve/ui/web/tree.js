// A conversation is a tree of messages; what is shown is the path from a root to one leaf. Messages are
// {id, chat, parent, role, content, …}; `messages` is a Map from id to message.

export const newId = () => {
  // randomUUID is missing where the page came without TLS.
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
};

export function children(messages, parent) {
  const out = [...messages.values()].filter((message) => (message.parent ?? null) === (parent ?? null));
  return out.sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));
}

// From the root to `leaf`. A parent that is missing or met twice (a damaged import) ends it.
export function pathTo(messages, leaf) {
  const path = [];
  const seen = new Set();
  for (let at = messages.get(leaf); at && !seen.has(at.id); at = messages.get(at.parent)) {
    seen.add(at.id);
    path.push(at);
  }
  return path.reverse();
}

// The leaf below `id` that a switch to it shows: the newest at each step.
export function newestLeaf(messages, id) {
  for (;;) {
    const below = children(messages, id);
    if (!below.length) return id;
    id = below[below.length - 1].id;
  }
}

export function subtree(messages, id) {
  const out = [id];
  for (let i = 0; i < out.length; ++i) for (const child of children(messages, out[i])) out.push(child.id);
  return out;
}

export function titleFrom(text) {
  const line = text.trim().split('\n').find((part) => part.trim()) ?? '';
  const plain = line.replace(/^[#>*\-\s]+/, '').replace(/[`*_]/g, '').replace(/\s+/g, ' ').trim();
  return plain.length > 60 ? plain.slice(0, 58).replace(/\s+\S*$/, '') + '…' : plain || 'New chat';
}
