// The field where messages are written, with its images.
import {$, el, iconButton, toast} from './dom.js';

const kLargestImage = 10 * 1024 * 1024;
const kMostImages = 8;
const kImageTypes = /^image\/(png|jpeg|gif|bmp|webp)$/;

const readDataUrl = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result);
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
});

export class Composer {
  images = [];
  takesImages = false;
  busy = false;

  constructor({send, stop, editLast}) {
    this.text = $('composer-text');
    this.send = send;
    $('composer').addEventListener('submit', (event) => { event.preventDefault(); this.submit(); });
    $('stop').addEventListener('click', stop);
    this.text.addEventListener('input', () => this.fit());
    this.text.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      // On touch screens Enter is the only way to a new line.
      if (event.key === 'Enter' && !event.shiftKey && !matchMedia('(hover: none) and (pointer: coarse)').matches) {
        event.preventDefault();
        this.submit();
      } else if (event.key === 'ArrowUp' && this.text.value === '') {
        if (editLast()) event.preventDefault();
      }
    });
    $('attach').addEventListener('click', () => $('attach-file').click());
    $('attach-file').addEventListener('change', () => { this.add([...$('attach-file').files]); $('attach-file').value = ''; });
    this.text.addEventListener('paste', (event) => this.take(event, event.clipboardData));
    document.addEventListener('dragover', (event) => { if (this.takesImages) event.preventDefault(); });
    document.addEventListener('drop', (event) => this.take(event, event.dataTransfer));
  }

  take(event, data) {
    const files = [...(data?.files ?? [])].filter((file) => kImageTypes.test(file.type));
    if (!files.length || !this.takesImages) return;
    event.preventDefault();
    this.add(files);
  }

  async add(files) {
    for (const file of files) {
      if (!kImageTypes.test(file.type)) toast(`${file.name} is no image that the model can see`);
      else if (file.size > kLargestImage) toast(`${file.name} is larger than 10 MB`);
      else if (this.images.length >= kMostImages) toast(`At most ${kMostImages} images go with a message`);
      else this.images.push({name: file.name, type: file.type, data: await readDataUrl(file)});
    }
    this.showImages();
    this.refresh();
  }

  showImages() {
    $('attachments').hidden = this.images.length === 0;
    $('attachments').replaceChildren(...this.images.map((image) => el('span', {class: 'attachment'},
      el('img', {src: image.data, alt: image.name}),
      iconButton('close', `Remove ${image.name}`, () => {
        this.images = this.images.filter((other) => other !== image);
        this.showImages();
        this.refresh();
      }))));
  }

  allowImages(allowed) {
    this.takesImages = allowed;
    $('attach').hidden = !allowed;
  }

  fit() {
    this.text.style.height = 'auto';
    this.text.style.height = Math.min(this.text.scrollHeight, innerHeight * 0.4) + 'px';
    this.refresh();
  }

  refresh() {
    $('send').hidden = this.busy;
    $('stop').hidden = !this.busy;
    $('send').disabled = this.text.value.trim() === '' && this.images.length === 0;
  }

  setBusy(busy) {
    const focused = document.activeElement === $('stop') || document.activeElement === $('send');
    this.busy = busy;
    this.refresh();
    // A button that vanishes would take the focus with it.
    if (focused) this.text.focus();
  }

  fill(text) {
    this.text.value = text;
    this.fit();
    this.text.focus();
  }

  submit() {
    const text = this.text.value;
    if (this.busy || (text.trim() === '' && this.images.length === 0)) return;
    const images = this.images;
    this.images = [];
    this.text.value = '';
    this.showImages();
    this.fit();
    this.send(text, images);
  }
}
