// The libraries that this build of the server carries. One that is missing leaves its work undone: without a markdown
// reader or a sanitiser texts stay plain, without a highlighter code has one colour.
import {el} from './dom.js';

let about = {version: '', libraries: []};
let marked = null, purify = null, highlighter;

const find = (id) => about.libraries.find((library) => library.id === id);
const load = (library) => import(new URL(library.url, document.baseURI).href);

export async function loadLibraries() {
  try {
    about = await (await fetch(new URL('ui/libraries.json', document.baseURI))).json();
    if (find('marked') && find('purify')) {
      const [markdown, sanitiser] = await Promise.all([load(find('marked')), load(find('purify'))]);
      purify = sanitiser.default;
      marked = purify.isSupported ? markdown.marked : null;
    }
  } catch {
    marked = null;
  }
}

export const libraries = () => about;
export const markdownReader = () => marked;

// A DocumentFragment of the HTML, holding nothing but what `rules` allow. The only place where text becomes HTML.
export const sanitised = (html, rules) => purify.sanitize(html, {...rules, RETURN_DOM_FRAGMENT: true});

// Loaded with the first code block: it is the largest part of the page.
export function loadHighlighter() {
  if (highlighter === undefined) {
    highlighter = !find('highlight') || !purify ? Promise.resolve(null)
      : load(find('highlight')).then(() => window.hljs ?? null, () => null);
  }
  return highlighter;
}

const kLongestCode = 60000;

// Colours the code in `node`, whose text it leaves as it is. Gives the milliseconds it took.
export async function highlight(node, text, language) {
  if (!language || text.length > kLongestCode) return 0;
  const hljs = await loadHighlighter();
  if (!hljs?.getLanguage(language)) return 0;
  const start = performance.now();
  let html;
  try { html = hljs.highlight(language, text, true).value; } catch { return 0; }
  const fragment = sanitised(html, {ALLOWED_TAGS: ['span'], ALLOWED_ATTR: ['class'], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false});
  // The node may show more by now, and the text must be what came.
  if (node.textContent === text && fragment.textContent === text) node.replaceChildren(fragment);
  return performance.now() - start;
}

export async function licenceSections() {
  const sections = [];
  for (const library of about.libraries) {
    const section = el('details', {class: 'licence'},
      el('summary', {}, el('strong', {text: library.name}), el('span', {class: 'muted', text: ` ${library.version}`})));
    const text = el('pre', {tabindex: '0', 'aria-label': `Licence of ${library.name}`, text: 'Loading…'});
    section.append(text);
    section.addEventListener('toggle', async () => {
      if (!section.open || section.dataset.loaded) return;
      section.dataset.loaded = 'yes';
      try {
        text.textContent = library.licence
          ? await (await fetch(new URL(library.licence, document.baseURI))).text() : 'The package carries no licence text.';
      } catch {
        text.textContent = 'The licence could not be loaded.';
        delete section.dataset.loaded;
      }
    });
    sections.push(section);
  }
  return sections;
}
