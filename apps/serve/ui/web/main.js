// The page: holds the chats and the one that is shown, and connects the parts.
import {onKeyNeeded, setApiKey, apiKey} from './api.js';
import {Composer} from './composer.js';
import {ConversationView} from './conversation-view.js';
import {openAbout, openTransfer} from './dialogs.js';
import {$, announce, confirmDialog, count, decorate, download, el, rate, setIcon, textButton, toast} from './dom.js';
import {loadLibraries} from './libraries.js';
import {readLocal, writeLocal} from './local.js';
import {othersWrite, Runs} from './runs.js';
import {ServerStatus, showServer} from './server-status.js';
import {openKeyDialog, openSettings} from './settings-dialog.js';
import {cleanSettings, defaultSettings, settingsSummary} from './settings.js';
import {Sidebar} from './sidebar.js';
import {openStore} from './store.js';
import {fileName, readChats, toJson, toMarkdown} from './transfer.js';
import {newId, newestLeaf, pathTo, subtree, titleFrom} from './tree.js';

const kSuggestions = ['Explain how transformers work, in simple words', 'Write a Python function that finds prime numbers',
  'Compare three ways to sort a list, as a table', 'Help me write a friendly reply to a late invoice'];

class Page {
  chats = new Map();
  current = null;            // a chat; null while a new one has no message yet
  messages = new Map();      // of the current chat
  draftSettings = defaultSettings();   // of the chat to come

  constructor(store) {
    this.store = store;
    this.loaded = new Map();   // chat id → messages, of chats with a run
    this.channel = 'BroadcastChannel' in window ? new BroadcastChannel('veloce') : null;
    this.channel?.addEventListener('message', () => this.reloadList());
    this.status = new ServerStatus(() => this.serverChanged());
    this.runs = new Runs({
      changed: (chat, message, ended) => this.runChanged(chat, message, ended),
      save: (message) => this.save({messages: [message]}),
    });
    this.sidebar = new Sidebar({
      open: (chat) => this.open(chat),
      rename: (chat, title) => { chat.title = title; this.save({chat}); this.refresh(); },
      remove: (chat) => this.removeChat(chat),
      search: (text) => this.search(text),
    });
    this.view = new ConversationView({
      regenerate: (message) => this.regenerate(message),
      retry: (message) => this.retry(message),
      resume: (message) => this.run(message, true),
      edited: (message, text) => this.edited(message, text),
      branch: (message) => this.branch(message),
      remove: (message) => this.removeMessage(message),
      show: (id) => { this.current.leaf = newestLeaf(this.messages, id); this.save({chat: this.current}); this.refresh(); },
    });
    this.composer = new Composer({
      send: (text, images) => this.send(text, images),
      stop: () => this.runs.stop(this.current?.id),
      editLast: () => this.editLast(),
    });
  }

  get settings() { return this.current ? this.current.settings : this.draftSettings; }
  get run_() { return this.current ? this.runs.of(this.current.id) : undefined; }

  async start() {
    await this.reloadList();
    await this.repair();
    const wanted = this.chats.get(location.hash.slice(1));
    if (wanted) await this.open(wanted);
    else this.startNew();
    this.status.check();
  }

  async reloadList() {
    for (const chat of await this.store.chats()) if (chat.id !== this.current?.id && !this.loaded.has(chat.id)) this.chats.set(chat.id, chat);
    this.refreshList();
  }

  // An answer that a closed page left half-written is a stopped one.
  async repair() {
    const broken = [];
    await this.store.each((message) => { if (message.state === 'streaming') broken.push({...message, state: 'stopped'}); });
    // Another tab may be writing it at this moment.
    if (broken.length && !(await othersWrite())) await this.store.put({messages: broken});
  }

  async save(what) {
    try {
      await this.store.put(what);
      if (what.chat) this.channel?.postMessage('changed');
    } catch (error) {
      if (!this.saveFailed) toast(`The browser could not keep this chat: ${error.message}`);
      this.saveFailed = true;
      // What cannot be stored lasts as long as the page.
      if (this.current) this.loaded.set(this.current.id, this.messages);
    }
  }

  async open(chat) {
    const turn = this.opening = (this.opening ?? 0) + 1;
    const messages = this.loaded.get(chat.id) ?? new Map((await this.store.messages(chat.id)).map((message) => [message.id, message]));
    if (turn !== this.opening) return;
    this.current = chat;
    this.messages = messages;
    if (!messages.has(chat.leaf)) chat.leaf = messages.size ? newestLeaf(messages, null) : null;
    history.replaceState(null, '', '#' + chat.id);
    this.refresh();
    if (!matchMedia('(pointer: coarse)').matches) this.composer.text.focus();
  }

  startNew() {
    this.opening = (this.opening ?? 0) + 1;
    this.current = null;
    this.messages = new Map();
    this.draftSettings = defaultSettings();
    history.replaceState(null, '', location.pathname + location.search);
    this.refresh();
    this.sidebar.leaveDrawer();
    this.composer.text.focus();
  }

  refresh() {
    const title = this.current?.title ?? 'New chat';
    $('chat-title').textContent = title;
    document.title = this.current ? `${title} · Veloce` : 'Veloce';
    this.view.show(this.current, this.messages, this.run_);
    this.composer.setBusy(Boolean(this.run_));
    const summary = settingsSummary(this.settings);
    $('chat-settings-label').textContent = summary || 'Settings';
    $('chat-settings').setAttribute('aria-label', summary ? `Settings of this chat: ${summary}` : 'Settings of this chat');
    this.showStats();
    this.refreshList();
  }

  refreshList() { this.sidebar.show(this.chats.values(), this.current, (chat) => Boolean(this.runs.of(chat.id))); }

  // Speed and context of the newest answer.
  showStats() {
    const path = this.current ? pathTo(this.messages, this.current.leaf) : [];
    const timings = path.findLast((message) => message.timings)?.timings;
    const used = timings ? (timings.prompt_n ?? 0) + (timings.cache_n ?? 0) + (timings.predicted_n ?? 0) : 0;
    const parts = [];
    if (this.run_ && timings?.predicted_per_second > 0) parts.push(`${rate(timings.predicted_per_second)} tok/s`);
    if (used) parts.push(this.status.context ? `${count(used)} / ${count(this.status.context)} tokens` : `${count(used)} tokens`);
    $('composer-stats').textContent = parts.join(' · ');
  }

  // --- messages ---

  addMessage(role, parent, content, more = {}) {
    const newest = Math.max(0, ...[...this.messages.values()].map((message) => message.created));
    const message = {id: newId(), chat: this.current.id, parent, role, content, created: Math.max(Date.now(), newest + 1), state: 'done', ...more};
    this.messages.set(message.id, message);
    this.current.leaf = message.id;
    this.current.updated = Date.now();
    return message;
  }

  async send(text, images) {
    if (!this.current) {
      this.current = {id: newId(), title: titleFrom(text), created: Date.now(), updated: Date.now(), settings: this.draftSettings, leaf: null};
      this.chats.set(this.current.id, this.current);
      history.replaceState(null, '', '#' + this.current.id);
      navigator.storage?.persist?.();
    }
    const question = this.addMessage('user', this.current.leaf, text, images.length ? {images} : {});
    await this.answer(question);
  }

  async answer(question) {
    const message = this.addMessage('assistant', question.id, '', {state: 'streaming'});
    this.view.following = true;
    const saved = this.save({chat: this.current, messages: [question, message]});
    const running = this.run(message, false);
    await saved;
    await running;
  }

  async run(message, continuing) {
    const chat = this.current, messages = this.messages;
    if (this.runs.of(chat.id)) return;
    this.loaded.set(chat.id, messages);
    await this.runs.start(chat, messages, message, continuing);
    if (!this.saveFailed) this.loaded.delete(chat.id);
  }

  runChanged(chat, message, ended) {
    if (chat !== this.current) {
      if (ended) this.refreshList();
      return;
    }
    const run = this.runs.of(chat.id);
    if (ended || !this.view.views.get(message.id)?.place?.busy) this.refresh();
    else this.view.grow(message, run);
    this.showStats();
    if (ended) {
      this.view.speak(message, true);
      if (message.error) this.status.check();
    }
  }

  regenerate(message) {
    if (this.run_) return;
    const question = message.role === 'user' ? message : this.messages.get(message.parent);
    if (question) this.answer(question);
  }

  // A failed answer that holds nothing is written over; one that holds something stays as a version.
  retry(message) {
    if (this.run_) return;
    if (message.content || message.reasoning) return this.regenerate(message);
    this.run(message, false);
  }

  edited(message, text) {
    if (this.run_ || (text.trim() === '' && !message.images?.length)) return;
    if (text === message.content && message.role === 'assistant') return;
    if (message.role === 'user') {
      const question = this.addMessage('user', message.parent, text, message.images ? {images: message.images} : {});
      this.answer(question);
      return;
    }
    const changed = this.addMessage('assistant', message.parent, text, {model: message.model});
    this.save({chat: this.current, messages: [changed]});
    this.refresh();
  }

  editLast() {
    const path = this.current && !this.run_ ? pathTo(this.messages, this.current.leaf) : [];
    const last = path.findLast((message) => message.role === 'user');
    if (!last) return false;
    this.view.views.get(last.id)?.edit();
    return true;
  }

  async branch(message) {
    const path = pathTo(this.messages, message.id);
    const chat = {...structuredClone(this.current), id: newId(), title: `${this.current.title} (branch)`, created: Date.now(), updated: Date.now()};
    let parent = null;
    const copies = path.map((each) => {
      const copy = {...structuredClone(each), id: newId(), chat: chat.id, parent};
      if (copy.state === 'streaming') copy.state = 'stopped';
      parent = copy.id;
      return copy;
    });
    chat.leaf = parent;
    this.chats.set(chat.id, chat);
    await this.save({chat, messages: copies});
    if (this.saveFailed) this.loaded.set(chat.id, new Map(copies.map((copy) => [copy.id, copy])));
    await this.open(chat);
    announce('Branched into a new chat');
  }

  async removeMessage(message) {
    const gone = subtree(this.messages, message.id);
    const text = gone.length > 1 ? `It and the ${gone.length - 1} after it will be gone.` : 'It will be gone.';
    if (!(await confirmDialog('Delete this message?', text, 'Delete')) || this.run_) return;
    for (const id of gone) this.messages.delete(id);
    const above = message.parent ?? null;
    this.current.leaf = this.messages.size ? newestLeaf(this.messages, above) : null;
    await this.store.remove({messages: gone});
    await this.save({chat: this.current});
    this.refresh();
  }

  // --- chats ---

  async removeChat(chat) {
    this.runs.drop(chat.id);
    const messages = await this.store.messages(chat.id);
    await this.store.remove({chat: chat.id, messages: messages.map((message) => message.id)});
    this.chats.delete(chat.id);
    if (this.current === chat) this.startNew();
    else this.refreshList();
    toast('Chat deleted', {text: 'Undo', run: async () => {
      await this.save({chat, messages});
      this.chats.set(chat.id, chat);
      this.refreshList();
    }});
  }

  async search(text) {
    const wanted = text.toLowerCase();
    const found = new Map();
    for (const chat of this.chats.values()) if (chat.title.toLowerCase().includes(wanted)) found.set(chat.id, '');
    await this.store.each((message) => {
      if (found.get(message.chat)) return;
      const at = message.content.toLowerCase().indexOf(wanted);
      if (at < 0) return;
      const from = Math.max(0, at - 30);
      found.set(message.chat, (from ? '…' : '') + message.content.slice(from, at + 80).replace(/\s+/g, ' '));
    });
    return found;
  }

  async entries(chats) {
    const out = [];
    for (const chat of chats) {
      const list = chat === this.current ? [...this.messages.values()] : await this.store.messages(chat.id);
      out.push({chat, messages: new Map(list.map((message) => [message.id, message]))});
    }
    return out;
  }

  transfer() {
    return openTransfer({
      exportChat: async (kind) => {
        const [entry] = await this.entries([this.current]);
        if (kind === 'md') download(fileName(this.current.title, 'md'), 'text/markdown', toMarkdown(entry.chat, entry.messages));
        else download(fileName(this.current.title, 'json'), 'application/json', toJson([entry]));
      },
      exportAll: async () => download('veloce-chats.json', 'application/json', toJson(await this.entries(this.chats.values()))),
      importFiles: (files) => this.importFiles(files),
      removeAll: () => this.removeAll(),
    }, Boolean(this.current));
  }

  async importFiles(files) {
    let last = null, number = 0;
    for (const file of files) {
      try {
        for (const {chat, messages} of readChats(await file.text())) {
          await this.store.put({chat, messages: [...messages.values()]});
          this.chats.set(chat.id, last = chat);
          ++number;
        }
      } catch (error) {
        toast(`${file.name}: ${error.message}`);
      }
    }
    if (!last) return;
    toast(number === 1 ? 'One chat imported' : `${number} chats imported`);
    await this.open(last);
  }

  async removeAll() {
    const text = `All ${this.chats.size} chats will be gone from this browser. This cannot be undone.`;
    if (!(await confirmDialog('Delete all chats?', text, 'Delete all'))) return;
    for (const chat of [...this.chats.values()]) {
      this.runs.drop(chat.id);
      await this.store.remove({chat: chat.id, messages: (await this.store.messages(chat.id)).map((message) => message.id)});
    }
    this.chats.clear();
    this.startNew();
  }

  async changeSettings() {
    const chat = this.current;
    const changed = await openSettings(this.settings, this.status.props, chat ? 'Settings of this chat' : 'Settings');
    if (!changed) return;
    if (chat) {
      chat.settings = cleanSettings(changed);
      await this.save({chat});
    } else {
      this.draftSettings = cleanSettings(changed);
    }
    this.refresh();
  }

  // --- server ---

  serverChanged() {
    showServer(this.status);
    this.composer.allowImages(this.status.takesImages);
    const {props} = this.status;
    $('welcome-model').textContent = props ? `${this.status.modelName}, ${count(this.status.context)} tokens of context, on this server.` : '';
    this.showNotice();
    this.showStats();
  }

  showNotice() {
    const words = {loading: 'The server is loading its model. This page will be ready with it.', away: 'The server cannot be reached. Trying again…',
      locked: 'This server wants an API key.'}[this.status.state];
    const text = words ?? (this.store.persistent ? '' : 'This browser keeps no data for this page: chats last until it is closed. Export those you want to keep.');
    if ($('notice').dataset.text === text) return;
    $('notice').dataset.text = text;
    $('notice').hidden = !text;
    $('notice').replaceChildren(text);
    if (this.status.state === 'locked') {
      $('notice').append(textButton('Enter the key', async () => { if (await askKey()) this.status.check(); }, 'plain'));
    }
    if (text) announce(text);
  }
}

async function askKey() {
  const given = await openKeyDialog(apiKey() !== '');
  if (!given) return false;
  setApiKey(given.key, given.keep);
  return true;
}

const kThemes = ['system', 'light', 'dark'];
function applyTheme() {
  const choice = readLocal('theme') ?? 'system';
  const dark = choice === 'dark' || (choice === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  document.querySelector('meta[name="theme-color"]').content = dark ? '#14161a' : '#ffffff';
  const button = $('theme');
  setIcon(button, {system: 'contrast', light: 'sun', dark: 'moon'}[choice]);
  button.title = `Theme: ${choice}`;
  button.setAttribute('aria-label', `Theme: ${choice}`);
}

function bindKeys(page) {
  document.addEventListener('keydown', (event) => {
    if (event.isComposing || document.querySelector('dialog[open]')) return;
    const mod = event.ctrlKey || event.metaKey;
    if (mod && !event.shiftKey && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      page.sidebar.focusSearch();
    } else if (mod && event.shiftKey && event.key.toLowerCase() === 'o') {
      event.preventDefault();
      page.startNew();
    } else if (event.key === 'Escape' && page.run_) {
      event.preventDefault();
      page.runs.stop(page.current.id);
    }
  });
}

async function start() {
  decorate();
  applyTheme();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme);
  const [store] = await Promise.all([openStore(), loadLibraries()]);
  const page = new Page(store);
  onKeyNeeded(askKey);
  $('new-chat').addEventListener('click', () => page.startNew());
  $('chat-settings').addEventListener('click', () => page.changeSettings());
  $('open-settings').addEventListener('click', () => page.changeSettings());
  $('open-transfer').addEventListener('click', () => page.transfer());
  $('open-about').addEventListener('click', openAbout);
  $('open-status').addEventListener('click', () => page.status.open());
  $('theme').addEventListener('click', () => {
    writeLocal('theme', kThemes[(kThemes.indexOf(readLocal('theme') ?? 'system') + 1) % kThemes.length]);
    applyTheme();
    announce($('theme').title);
  });
  $('suggestions').append(...kSuggestions.map((text) => el('button', {type: 'button', class: 'suggestion', text, on: {click: () => page.composer.fill(text)}})));
  window.addEventListener('hashchange', () => {
    const chat = page.chats.get(location.hash.slice(1));
    if (chat && chat !== page.current) page.open(chat);
  });
  bindKeys(page);
  await page.start();
  page.composer.fit();
  document.documentElement.dataset.ready = 'yes';
}

start();
