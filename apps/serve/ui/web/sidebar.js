// The list of chats: newest first, by day; search in titles and texts; rename and delete in place.
import {$, confirmDialog, el, iconButton} from './dom.js';

const kDay = 86400000;

function groupOf(time) {
  const today = new Date().setHours(0, 0, 0, 0);
  if (time >= today) return 'Today';
  if (time >= today - kDay) return 'Yesterday';
  if (time >= today - 7 * kDay) return 'Last 7 days';
  if (time >= today - 30 * kDay) return 'Last 30 days';
  return new Date(time).toLocaleDateString('en', {month: 'long', year: 'numeric'});
}

export class Sidebar {
  // `actions`: open(chat), rename(chat, title), remove(chat), search(text) → Map from chat id to an excerpt.
  constructor(actions) {
    this.actions = actions;
    this.narrow = matchMedia('(max-width: 800px)');
    $('sidebar-open').addEventListener('click', () => this.toggle(true));
    $('sidebar-close').addEventListener('click', () => this.toggle(false));
    $('scrim').addEventListener('click', () => this.toggle(false));
    this.narrow.addEventListener('change', () => this.toggle(!this.narrow.matches, false));
    this.toggle(!this.narrow.matches, false);
    let timer;
    $('search').addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(() => this.refresh(), 150); });
    $('search').addEventListener('keydown', (event) => this.searchKey(event));
    $('sidebar').addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.narrow.matches && this.open) { event.stopPropagation(); this.toggle(false); }
    });
  }

  get open() { return !$('sidebar').inert; }

  toggle(open, focus = true) {
    $('app').classList.toggle('sidebar-hidden', !open);
    $('sidebar').inert = !open;
    const over = open && this.narrow.matches;
    $('scrim').hidden = !over;
    // As a drawer it covers the page, which then must not take the focus.
    $('page').inert = over;
    $('sidebar-open').hidden = open && !over;
    $('sidebar-open').setAttribute('aria-expanded', String(open));
    if (focus) (open ? $('sidebar-close') : $('sidebar-open')).focus();
  }
  leaveDrawer() { if (this.narrow.matches && this.open) this.toggle(false, false); }

  focusSearch() {
    this.toggle(true, false);
    $('search').focus();
    $('search').select();
  }

  searchKey(event) {
    const first = $('chat-list').querySelector('.chat-open');
    if (event.key === 'Enter' && first) first.click();
    if (event.key === 'ArrowDown' && first) { event.preventDefault(); first.focus(); }
    if (event.key === 'Escape' && $('search').value) {
      event.stopPropagation();
      $('search').value = '';
      this.refresh();
    }
  }

  show(chats, current, running) {
    Object.assign(this, {chats: [...chats], current, running});
    return this.refresh();
  }

  async refresh() {
    const wanted = $('search').value.trim();
    const turn = this.turn = (this.turn ?? 0) + 1;
    const found = wanted ? await this.actions.search(wanted) : null;
    if (turn !== this.turn) return;
    const focused = document.activeElement?.closest?.('.chat-item')?.dataset.id;
    const shown = this.chats.filter((chat) => !found || found.has(chat.id)).sort((a, b) => b.updated - a.updated);
    const nodes = [];
    let group = null, list = null;
    for (const chat of shown) {
      const name = groupOf(chat.updated);
      if (name !== group) {
        list = el('ul', {class: 'chat-group', 'aria-label': name});
        nodes.push(el('h2', {class: 'group-name', text: name, 'aria-hidden': 'true'}), list);
        group = name;
      }
      list.append(this.item(chat, found?.get(chat.id)));
    }
    if (!shown.length) nodes.push(el('p', {class: 'muted empty', text: wanted ? 'No chat has this text.' : 'Chats will appear here.'}));
    $('chat-list').replaceChildren(...nodes);
    if (focused) $('chat-list').querySelector(`[data-id="${focused}"] .chat-open`)?.focus();
  }

  item(chat, excerpt) {
    const current = chat.id === this.current?.id;
    const open = el('button', {type: 'button', class: 'chat-open', 'aria-current': current ? 'page' : null, on: {
      click: () => { this.leaveDrawer(); this.actions.open(chat); },
      dblclick: () => this.rename(item, chat),
      keydown: (event) => {
        if (event.key === 'F2') this.rename(item, chat);
        if (event.key === 'Delete') this.remove(chat);
      }}}, el('span', {class: 'chat-name', text: chat.title}), excerpt ? el('span', {class: 'excerpt', text: excerpt}) : null,
      this.running(chat) ? el('span', {class: 'running', role: 'img', 'aria-label': 'An answer is being written'}) : null);
    const item = el('li', {class: `chat-item${current ? ' current' : ''}`, 'data-id': chat.id}, open,
      el('span', {class: 'chat-actions'},
        iconButton('edit', `Rename ${chat.title}`, () => this.rename(item, chat)),
        iconButton('trash', `Delete ${chat.title}`, () => this.remove(chat))));
    return item;
  }

  rename(item, chat) {
    const field = el('input', {class: 'rename', 'aria-label': 'Title of the chat', value: chat.title, maxlength: '200'});
    let left = false;
    const leave = (keep) => {
      if (left) return;
      left = true;
      const title = field.value.trim();
      if (keep && title && title !== chat.title) this.actions.rename(chat, title);
      else this.refresh();
    };
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing) leave(true);
      if (event.key === 'Escape') { event.stopPropagation(); leave(false); }
    });
    field.addEventListener('blur', () => leave(true));
    item.replaceChildren(field);
    field.select();
    field.focus();
  }

  async remove(chat) {
    if (await confirmDialog('Delete this chat?', `“${chat.title}” will be gone from this browser.`, 'Delete')) this.actions.remove(chat);
  }
}
