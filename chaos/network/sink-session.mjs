const END_OF_DATA = Buffer.from('\r\n.\r\n');
const OFFER = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES'];
const MESSAGE_ID = /^message-id: *<?([^>\r\n]+)>?/im;
const HEADER_BYTES = 4_096;

/**
 * One connection of a receiving server (RFC 5321). What it replies is up to a behaviour, see network/sink.mjs: each reply is
 * a line, or a promise of one; `undefined` ends the connection without a reply.
 */
export class SinkSession {
  #input = Buffer.alloc(0);
  #searchedTo = 0;
  #isInData = false;
  #isBusy = false;
  #recipients = [];
  #client = '';

  constructor(socket, behaviour) {
    this.socket = socket;
    this.behaviour = behaviour;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
      void this.#process();
    });
    void this.#greet();
  }

  async #greet() {
    this.#isBusy = true;
    await this.#reply(this.behaviour.reply('220 sink.chaos.test ESMTP'));
    this.#isBusy = false;
    await this.#process();
  }

  async #process() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (!this.socket.destroyed && (this.#isInData ? await this.#readMessage() : await this.#readCommand()));
    this.#isBusy = false;
  }

  async #readCommand() {
    const end = this.#input.indexOf('\r\n');
    if (end === -1) return false;
    const line = this.#input.toString('latin1', 0, end);
    this.#input = this.#input.subarray(end + 2);
    await this.#reply(this.#answer(line.slice(0, 4).toUpperCase(), line));
    return true;
  }

  #answer(verb, line) {
    switch (verb) {
      case 'EHLO':
        this.#client = line.slice(5);
        return this.behaviour.reply(['250-sink.chaos.test', ...OFFER.map(offerLine)].join('\r\n'));
      case 'MAIL':
        this.#recipients = [];
        return this.behaviour.reply('250 2.1.0 Ok');
      case 'RCPT':
        return this.#answerRecipient(/<([^>]*)>/.exec(line)?.[1] ?? '');
      case 'DATA':
        if (this.#recipients.length === 0) return '554 5.5.1 No valid recipients';
        this.#isInData = true;
        this.#searchedTo = 0;
        return this.behaviour.reply('354 Go ahead');
      case 'QUIT':
        this.socket.end('221 2.0.0 Bye\r\n');
        return '';
      default:
        return this.behaviour.reply('250 2.0.0 Ok');
    }
  }

  #answerRecipient(address) {
    const reply = this.behaviour.recipient(address);
    if (reply.startsWith('250')) this.#recipients.push(address);
    return this.behaviour.reply(reply);
  }

  async #readMessage() {
    const end = this.#input.indexOf(END_OF_DATA, Math.max(0, this.#searchedTo - END_OF_DATA.length));
    this.#searchedTo = this.#input.length;
    if (end === -1) return false;
    const messageId = MESSAGE_ID.exec(this.#input.toString('latin1', 0, Math.min(end, HEADER_BYTES)))?.[1] ?? '';
    this.#input = this.#input.subarray(end + END_OF_DATA.length);
    this.#isInData = false;
    const message = { messageId, recipients: this.#recipients, client: this.#client, dotAt: performance.now() };
    await this.#reply(this.behaviour.message(message));
    return true;
  }

  async #reply(promised) {
    const line = typeof promised === 'string' ? promised : await promised;
    if (line === undefined) this.socket.destroy();
    else if (line !== '' && !this.socket.destroyed) this.socket.write(`${line}\r\n`, 'latin1');
  }
}

function offerLine(offer, index) {
  return `250${index === OFFER.length - 1 ? ' ' : '-'}${offer}`;
}
