// The dialogs of the side bar's foot: export and import, about.
import {el, icon, isMac, keyNames, openDialog, textButton} from './dom.js';
import {libraries, licenceSections} from './libraries.js';

// `actions`: exportChat(kind), exportAll(), importFiles(files), removeAll().
export function openTransfer(actions, hasChat) {
  return openDialog({
    title: 'Export and import', kind: 'small',
    build: (body, close) => {
      const row = (name, text, run, enabled = true) => {
        const button = el('button', {type: 'button', class: 'row-button', disabled: !enabled, on: {click: () => { close(); run(); }}},
          icon(name), el('span', {text}));
        body.append(button);
      };
      const file = el('input', {type: 'file', accept: '.json,.md,application/json,text/markdown', multiple: true, class: 'visually-hidden', 'aria-label': 'Files to import', tabindex: '-1', id: 'import-file'});
      file.addEventListener('change', () => { close(); actions.importFiles([...file.files]); });
      row('download', 'This chat as Markdown', () => actions.exportChat('md'), hasChat);
      row('download', 'This chat as JSON', () => actions.exportChat('json'), hasChat);
      row('download', 'All chats as JSON', actions.exportAll);
      body.append(el('button', {type: 'button', class: 'row-button', on: {click: () => file.click()}}, icon('upload'), el('span', {text: 'Import JSON or Markdown'})), file);
      body.append(el('hr'));
      row('trash', 'Delete all chats', actions.removeAll);
    },
  });
}

const kShortcuts = [['Enter', 'Send'], ['Shift+Enter', 'New line'], ['Escape', 'Stop the answer'], ['Mod+K', 'Search chats'],
  ['Mod+Shift+O', 'New chat'], ['↑ in the empty field', 'Edit your last message'], ['F2, Delete', 'Rename or delete a chat in the list']];

export async function openAbout() {
  const {version, libraries: carried} = libraries();
  const sections = await licenceSections();
  return openDialog({
    title: 'About', kind: 'medium',
    build: (body) => {
      body.append(el('p', {text: `Veloce ${version}. This page talks to the server it came from and to nobody else; chats are kept in this browser.`}),
        el('h3', {text: 'Shortcuts'}),
        el('dl', {class: 'shortcuts'}, ...kShortcuts.map(([keys, what]) => el('div', {}, el('dt', {}, el('kbd', {text: keyNames(keys).replace(isMac ? 'Escape' : '\0', 'esc')})), el('dd', {text: what})))),
        el('h3', {text: 'Libraries on this page'}));
      if (!carried.length) body.append(el('p', {class: 'muted', text: 'None: this build shows texts plainly.'}));
      body.append(...sections);
    },
    footer: (foot, close) => foot.append(textButton('Close', () => close(), 'primary')),
  });
}
