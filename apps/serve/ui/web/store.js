// Where conversations are kept: IndexedDB, or memory where the browser has none to give.

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const finished = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve();
  transaction.onerror = transaction.onabort = () => reject(transaction.error ?? new Error('the browser refused to store'));
});

class IndexedStore {
  persistent = true;
  constructor(database) { this.database = database; }

  static async open() {
    const request = indexedDB.open('veloce', 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore('chats', {keyPath: 'id'});
      request.result.createObjectStore('messages', {keyPath: 'id'}).createIndex('chat', 'chat');
    };
    const store = new IndexedStore(await done(request));
    // An upgrade by another tab must not wait for this one.
    store.database.onversionchange = () => store.database.close();
    return store;
  }

  read(name) { return this.database.transaction(name).objectStore(name); }
  chats() { return done(this.read('chats').getAll()); }
  messages(chat) { return done(this.read('messages').index('chat').getAll(chat)); }

  async write(names, work) {
    const transaction = this.database.transaction(names, 'readwrite');
    const ended = finished(transaction);
    work((name) => transaction.objectStore(name));
    await ended;
  }
  put({chat, messages = []}) {
    return this.write(['chats', 'messages'], (store) => {
      if (chat) store('chats').put(chat);
      for (const message of messages) store('messages').put(message);
    });
  }
  remove({chat = null, messages = []}) {
    return this.write(['chats', 'messages'], (store) => {
      if (chat) store('chats').delete(chat);
      for (const id of messages) store('messages').delete(id);
    });
  }

  // Calls `see` for each message of all chats.
  each(see) {
    return new Promise((resolve, reject) => {
      const request = this.read('messages').openCursor();
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return resolve();
        see(cursor.value);
        cursor.continue();
      };
    });
  }
}

class MemoryStore {
  persistent = false;
  chatMap = new Map();
  messageMap = new Map();
  async chats() { return structuredClone([...this.chatMap.values()]); }
  async messages(chat) { return structuredClone([...this.messageMap.values()].filter((message) => message.chat === chat)); }
  async put({chat, messages = []}) {
    if (chat) this.chatMap.set(chat.id, structuredClone(chat));
    for (const message of messages) this.messageMap.set(message.id, structuredClone(message));
  }
  async remove({chat = null, messages = []}) {
    this.chatMap.delete(chat);
    for (const id of messages) this.messageMap.delete(id);
  }
  async each(see) { for (const message of this.messageMap.values()) see(message); }
}

export async function openStore() {
  try {
    return await IndexedStore.open();
  } catch {
    return new MemoryStore();
  }
}
