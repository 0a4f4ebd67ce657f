// Building blocks of the page: elements, icons, dialogs, toasts, and what screen readers are told.

// el('button', {class: 'x', text: 'y', 'aria-label': 'z', hidden: true, on: {click: f}}, child, …). Text only: no
// argument is ever read as HTML.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'text') node.textContent = value;
    else if (name === 'on') for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === 'value') node.value = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const $ = (id) => document.getElementById(id);

export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', 'ui/icons.svg#' + name);
  svg.append(use);
  return svg;
}

export function setIcon(node, name) {
  node.querySelector('.icon')?.remove();
  node.prepend(icon(name));
}

export function iconButton(name, label, click, extra = {}) {
  return el('button', {type: 'button', class: 'icon-button', 'aria-label': label, title: label, on: {click}, ...extra}, icon(name));
}

export function textButton(text, click, kind = '') {
  return el('button', {type: 'button', class: `button ${kind}`, text, on: {click}});
}

// Turns data-icon and data-keys in the static page into icons and key names.
export function decorate(root = document) {
  for (const node of root.querySelectorAll('[data-icon]')) {
    setIcon(node, node.dataset.icon);
    const label = node.getAttribute('aria-label');
    if (label && !node.title) node.title = label;
  }
  for (const node of root.querySelectorAll('[data-keys]')) node.textContent = keyNames(node.dataset.keys);
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform || '');
export function keyNames(keys) {
  return isMac ? keys.replace('Mod+', '⌘').replace('Shift+', '⇧') : keys.replace('Mod', 'Ctrl');
}

// For screen readers. A new text replaces the last one, so callers space out what they say.
export function announce(text) {
  const live = $('live');
  live.textContent = '';
  setTimeout(() => { live.textContent = text; }, 30);
}

export function toast(text, action = null) {
  const node = el('div', {class: 'toast'}, el('span', {text}));
  const remove = () => node.remove();
  if (action) node.append(textButton(action.text, () => { remove(); action.run(); }, 'plain'));
  node.append(iconButton('close', 'Dismiss', remove));
  $('toasts').append(node);
  setTimeout(remove, action ? 9000 : 5000);
}

// A modal dialog. `build(body, close)` fills it; the promise gives what close() was called with.
export function openDialog({title, kind = '', build, footer}) {
  return new Promise((resolve) => {
    let result;
    const heading = el('h2', {text: title, id: 'dialog-' + Math.random().toString(36).slice(2)});
    const body = el('div', {class: 'dialog-body', ...(kind === 'panel' ? {tabindex: '0', role: 'group', 'aria-label': title} : {})});
    const dialog = el('dialog', {class: `dialog ${kind}`, 'aria-labelledby': heading.id});
    const close = (value) => { result = value; dialog.close(); };
    dialog.append(el('div', {class: 'dialog-head'}, heading, iconButton('close', 'Close', () => close(undefined))), body);
    build(body, close, dialog);
    if (footer) {
      const foot = el('div', {class: 'dialog-foot'});
      footer(foot, close);
      dialog.append(foot);
    }
    dialog.addEventListener('close', () => { dialog.remove(); resolve(result); });
    dialog.addEventListener('mousedown', (event) => { if (event.target === dialog) close(undefined); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

export async function confirmDialog(title, text, action, kind = 'danger') {
  return await openDialog({
    title, kind: 'small',
    build: (body) => body.append(el('p', {text})),
    footer: (foot, close) => foot.append(textButton('Cancel', () => close(false)), textButton(action, () => close(true), kind)),
  }) === true;
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS the clipboard is closed to pages; a selection is not.
    const area = el('textarea', {value: text, class: 'visually-hidden', 'aria-hidden': 'true'});
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

export function copyButton(label, text) {
  const button = iconButton('copy', label, async () => {
    const done = await copyText(text());
    setIcon(button, done ? 'check' : 'warning');
    announce(done ? 'Copied' : 'The browser refused to copy');
    setTimeout(() => setIcon(button, 'copy'), 1500);
  });
  return button;
}

export function download(name, type, text) {
  const link = el('a', {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Numbers for people.
export const count = (n) => Math.round(n).toLocaleString('en');
export const rate = (n) => (n >= 100 ? Math.round(n).toLocaleString('en') : n.toFixed(1));
