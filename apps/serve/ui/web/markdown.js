// Shows markdown that is still being written. The text is cut into top-level blocks; only blocks that changed since the
// last call are made anew, so that a long answer does not slow down. What models write is hostile: HTML other than a few
// harmless tags is shown as the text it is, everything passes the sanitiser, nothing is fetched without a click.
import {copyButton, el} from './dom.js';
import {highlight, markdownReader, sanitised} from './libraries.js';

const kHarmlessTag = /^<\/?(br|sub|sup|kbd|b|i|em|strong|u|s|del|ins|mark|small|details|summary|hr|wbr|abbr|code)\s*\/?>$/i;
const kTag = /<[^>]*>?/g;
const kLongest = 400000;    // characters; a text beyond stays plain
const kDeepest = 24;        // nested lists and quotes
const kMostRows = 200;      // rows of a table shown at first
const kSlowCode = 10;       // ms to colour a block; slower ones get colours when they are complete

const kRules = {
  ALLOWED_TAGS: ['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'table',
    'thead', 'tbody', 'tr', 'th', 'td', 'a', 'strong', 'em', 'del', 'b', 'i', 'u', 's', 'ins', 'mark', 'small', 'sub', 'sup',
    'kbd', 'details', 'summary', 'wbr', 'abbr'],
  ALLOWED_ATTR: ['href', 'title', 'align', 'start', 'class'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:)/i,
  ADD_URI_SAFE_ATTR: ['align', 'start'],   // the expression above is held against every value but those of these
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const escapeHtml = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const renderer = {
  html(html) {
    const tags = html.match(kTag) ?? [];
    return tags.every((tag) => kHarmlessTag.test(tag)) ? html : escapeHtml(html);
  },
  // An image elsewhere tells its server who reads this, so it is a link until someone follows it.
  image(href, title, text) {
    return `<a href="${escapeHtml(href ?? '')}" class="remote-image">${escapeHtml(text || title || 'Image')}</a>`;
  },
  // The page's own headings are the first two levels.
  heading(text, level) {
    const tag = `h${Math.min(6, level + 2)}`;
    return `<${tag}>${text}</${tag}>\n`;
  },
  checkbox(checked) { return checked ? '☑ ' : '☐ '; },
};

let prepared = null;
function reader() {
  const marked = markdownReader();
  if (marked && marked !== prepared) {
    marked.use({renderer, gfm: true, breaks: true, headerIds: false, mangle: false});
    prepared = marked;
  }
  return marked;
}

function tooDeep(token, depth = 0) {
  if (depth > kDeepest) return true;
  for (const list of [token.tokens, token.items]) {
    if (list?.some((inner) => tooDeep(inner, depth + 1))) return true;
  }
  return false;
}

const kLanguage = /^[\w+#.-]{1,30}$/;
const languageOf = (info) => {
  const word = (info ?? '').trim().split(/[\s{,:]/)[0].toLowerCase();
  return kLanguage.test(word) ? word : '';
};

class CodeBlock {
  constructor(language) {
    this.code = el('code', {});
    this.node = el('div', {class: 'code-block'},
      el('div', {class: 'code-head'}, el('span', {text: language || 'text'}), copyButton('Copy code', () => this.code.textContent)),
      el('pre', {tabindex: '0', 'aria-label': language ? `Code, ${language}` : 'Code'}, this.code));
    this.language = language;
  }
  // `growing`: more may follow; then colours wait where they are slow.
  show(text, growing = false) {
    if (this.text === text && !this.plain) return;
    if (this.text !== text) this.code.textContent = text;
    this.text = text;
    this.plain = growing && this.cost > kSlowCode;
    if (!this.plain) highlight(this.code, text, this.language).then((cost) => { this.cost = cost; });
  }
}

function finishLinks(root) {
  for (const link of root.querySelectorAll('a')) {
    const target = link.getAttribute('href');
    if (!target) {
      link.replaceWith(...link.childNodes);
      continue;
    }
    link.target = '_blank';
    link.rel = 'noopener noreferrer nofollow';
    link.title = target;
    if (link.className === 'remote-image') {
      const host = URL.canParse?.(target) ? new URL(target).host : '';
      link.prepend('Image: ');
      if (host) link.append(el('span', {class: 'muted', text: ` (${host})`}));
    } else {
      link.removeAttribute('class');
    }
  }
}

// What sanitised HTML still needs: scrollable tables, code with its head, links that leave nothing behind.
function finish(root) {
  for (const node of root.querySelectorAll('[class]')) {
    if (node.tagName !== 'A' && node.tagName !== 'CODE') node.removeAttribute('class');
  }
  finishLinks(root);
  for (const code of root.querySelectorAll('pre > code')) {
    const block = new CodeBlock(languageOf(code.className.replace(/^language-/, '')));
    block.show(code.textContent);
    code.parentNode.replaceWith(block.node);
  }
  for (const code of root.querySelectorAll('code[class]')) if (!code.closest('.code-block')) code.removeAttribute('class');
  for (const table of root.querySelectorAll('table')) {
    const frame = el('div', {class: 'table-frame', tabindex: '0', role: 'region', 'aria-label': 'Table'});
    table.replaceWith(frame);
    frame.append(table);
  }
  return root;
}

function plainBlock(text) {
  return el('p', {class: 'plain', text});
}

function blockNode(marked, token) {
  if (tooDeep(token)) return plainBlock(token.raw);
  const shown = token.type === 'table' && token.rows.length > kMostRows && !token.whole
    ? {...token, rows: token.rows.slice(0, kMostRows)} : token;
  const block = el('div', {class: 'block'});
  block.append(finish(sanitised(marked.parser(Object.assign([shown], {links: {}})), kRules)));
  if (shown !== token) {
    const more = el('button', {type: 'button', class: 'button plain', text: `Show all ${token.rows.length} rows`});
    more.addEventListener('click', () => block.replaceWith(blockNode(marked, {...token, whole: true})));
    block.append(more);
  }
  return block;
}

export class MarkdownView {
  blocks = [];    // {raw, type, node, code}
  cost = 0;       // ms that the last update took

  constructor(node) { this.node = node; }

  // `last`: the text is complete.
  update(text, last) {
    const start = performance.now();
    const marked = reader();
    let tokens = null;
    if (marked && text.length <= kLongest) {
      // Nesting without end exhausts the reader's stack.
      try { tokens = marked.lexer(text); } catch { tokens = null; }
    }
    if (tokens) this.showBlocks(marked, tokens, last);
    else this.showPlain(text);
    this.cost = performance.now() - start;
  }

  showPlain(text) {
    this.blocks = [];
    this.plain ??= el('div', {class: 'plain'});
    this.plain.textContent = text;
    if (this.plain.parentNode !== this.node) this.node.replaceChildren(this.plain);
  }

  showBlocks(marked, tokens, last) {
    if (this.plain?.parentNode) this.plain.remove();
    // A link's definition at the end changes blocks before it.
    if (last && Object.keys(tokens.links ?? {}).length) this.clear(0);
    const wanted = tokens.filter((token) => token.type !== 'space' && token.type !== 'def');
    let same = 0;
    while (same < wanted.length && same < this.blocks.length && this.blocks[same].raw === wanted[same].raw &&
           this.blocks[same].type === wanted[same].type) ++same;
    const growing = this.blocks[same];
    if (growing?.code && wanted[same]?.type === 'code' && growing.code.language === languageOf(wanted[same].lang)) {
      growing.code.show(wanted[same].text, !last);
      growing.raw = wanted[same].raw;
      ++same;
    }
    if (last) for (const block of this.blocks.slice(0, same)) block.code?.show(block.code.text);
    this.clear(same);
    for (const token of wanted.slice(same)) {
      const block = {raw: token.raw, type: token.type};
      if (token.type === 'code') {
        block.code = new CodeBlock(languageOf(token.lang));
        block.code.show(token.text, !last);
        block.node = block.code.node;
      } else {
        try { block.node = blockNode(marked, token); } catch { block.node = plainBlock(token.raw); }
      }
      this.blocks.push(block);
      this.node.append(block.node);
    }
  }

  clear(from) {
    for (const block of this.blocks.splice(from)) block.node.remove();
  }
}
