// The messages of the chat that is shown: keeps the page in step with the tree, the view at the end of what is written,
// and tells screen readers about answers, a few sentences at a time.
import {$, announce} from './dom.js';
import {MessageView} from './message-view.js';
import {children, pathTo} from './tree.js';

const kSpeakEvery = 4000;   // ms between two pieces of an answer read out
const kSpokenAtOnce = 600;  // characters

export class ConversationView {
  views = new Map();
  following = true;

  constructor(actions) {
    this.actions = actions;
    this.list = $('messages');
    this.scroller = $('scroller');
    this.scroller.addEventListener('scroll', () => this.noteScroll(), {passive: true});
    $('to-end').addEventListener('click', () => { this.following = true; this.scrollToEnd(true); });
    new ResizeObserver(() => { if (this.following) this.scrollToEnd(); }).observe(this.list);
  }

  noteScroll() {
    const {scrollTop, scrollHeight, clientHeight} = this.scroller;
    const away = scrollHeight - scrollTop - clientHeight;
    // Only a move up by the user ends following; content that grew does not.
    if (away < 40) this.following = true;
    else if (scrollTop < (this.lastTop ?? 0) - 2) this.following = false;
    this.lastTop = scrollTop;
    $('to-end').hidden = away < 200;
  }

  scrollToEnd(smooth = false) {
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.scroller.scrollTo({top: this.scroller.scrollHeight, behavior: smooth && !calm ? 'smooth' : 'instant'});
  }

  // Shows the path to the chat's leaf. `runOf(message)`: the run that writes the message, if any.
  show(chat, messages, run) {
    if (this.chat !== chat) {
      this.chat = chat;
      this.views.clear();
      this.list.replaceChildren();
      this.following = true;
      this.spoken = null;
    }
    const path = chat ? pathTo(messages, chat.leaf) : [];
    const nodes = path.map((message, i) => {
      let view = this.views.get(message.id);
      if (!view) this.views.set(message.id, view = new MessageView(message, this.actions));
      const siblings = children(messages, message.parent).filter((other) => other.role === message.role).map((other) => other.id);
      view.place = {index: siblings.indexOf(message.id), siblings, last: i === path.length - 1, busy: Boolean(run)};
      view.refresh({...view.place, run: run?.message === message ? run : null});
      return view.node;
    });
    const shown = new Set(nodes);
    for (const child of [...this.list.children]) if (!shown.has(child)) child.remove();
    nodes.forEach((node, i) => { if (this.list.children[i] !== node) this.list.insertBefore(node, this.list.children[i] ?? null); });
    for (const [id, view] of this.views) if (!shown.has(view.node)) this.views.delete(id);
    $('welcome').hidden = path.length > 0;
    if (this.following) this.scrollToEnd();
  }

  // The message grew. Draws at most once a frame, and less often where drawing is slow.
  grow(message, run) {
    const view = this.views.get(message.id);
    if (!view || view.drawing) return;
    view.drawing = true;
    const wait = Math.max(30, 5 * view.answer.cost);
    setTimeout(() => requestAnimationFrame(() => {
      view.drawing = false;
      if (message.state !== 'streaming' || this.views.get(message.id) !== view) return;
      view.refresh({...view.place, run});
      if (this.following) this.scrollToEnd();
      this.speak(message, false);
    }), wait);
  }

  // Reads on where it stopped, to the end of a sentence.
  speak(message, last) {
    const now = performance.now();
    if (this.spoken?.id !== message.id) {
      this.spoken = {id: message.id, upTo: message.content.length > 200 ? message.content.length : 0, at: now};
      if (!last) announce('The answer begins');
      if (!last) return;
    }
    if (!last && now - this.spoken.at < kSpeakEvery) return;
    const fresh = message.content.slice(this.spoken.upTo);
    const end = last ? fresh.length : Math.max(...['. ', '! ', '? ', '.\n', '\n\n', ':\n'].map((mark) => fresh.lastIndexOf(mark) + 1));
    if (end <= 0 && !last) return;
    const text = fresh.slice(0, end).replace(/[`*_#|]/g, '').trim();
    this.spoken.upTo += end;
    this.spoken.at = now;
    const short = text.length > kSpokenAtOnce ? text.slice(0, kSpokenAtOnce) + '… and more' : text;
    const ended = {done: 'Answer complete', stopped: 'Answer stopped', error: 'The answer failed', length: 'The answer was cut off'}[message.state];
    announce(last ? `${short} ${ended ?? ''}`.trim() : short);
  }
}
