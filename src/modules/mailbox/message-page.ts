import type { ListedMessage, OpenMessage } from './mailbox.service';
import { displayBody, displayLine, fileSize, layout, time } from './page-layout';
import { decodedField, type HeaderField, type MessageContent, type MessagePart } from './message-reader';
import { escapeHtml, type Markup } from '../../common/http/html-page';

const MAX_TEXT_LENGTH = 200_000;
const MAX_FIELDS = 300;
const MAX_FIELD_LENGTH = 4_000;
const NAME_LENGTH = 100;

const UNREADABLE: Readonly<Record<'too-large' | 'malformed', string>> = {
  'too-large': 'This message is too large to be taken apart here.',
  malformed: 'The structure of this message is broken, or deeper than any mail program would follow.',
};

/** One message: who and when, its html in a sandbox, its text, its attachments, its header. */
export function messagePage({ message, head, content }: OpenMessage): string {
  const title = message.subject || '(no subject)';
  const body = escapeHtml`<header>
      <p><a href="/mailbox">&larr; Mailbox</a></p>
      <h1><bdi>${title}</bdi></h1>
    </header>
    <main>
      ${envelope(message, head)}
      ${content.kind === 'parts' ? parts(message.id, content) : unreadable(content.kind)}
      ${headerFields(head)}
    </main>`;
  return layout({ title, body });
}

function envelope(message: ListedMessage, head: readonly HeaderField[]): Markup {
  const { id, receivedAt, sender, returnPath, recipients, size } = message;
  return escapeHtml`<section class="card">
        <dl>
          ${line('From', sender)}
          ${line('To', decodedField(head, 'to'))}
          ${line('Cc', decodedField(head, 'cc'))}
          ${line('Reply to', decodedField(head, 'reply-to'))}
          ${line('Return path', returnPath || '<>')}
          ${line('Delivered to', recipients.join(', '))}
          <dt>Received</dt><dd>${time(receivedAt)} UTC</dd>
        </dl>
        <div class="tools">
          <a class="button" href="/mailbox/${id}/raw" download>Download .eml (${fileSize(size)})</a>
          <form method="post" action="/mailbox/${id}/delete"><button class="button danger">Delete</button></form>
        </div>
      </section>`;
}

function line(name: string, value: string): Markup | undefined {
  return value === '' ? undefined : escapeHtml`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`;
}

function parts(id: string, { html, text, attachments }: Extract<MessageContent, { kind: 'parts' }>): Markup {
  return escapeHtml`${html === undefined ? undefined : htmlFrame(id)}
      ${text === undefined ? undefined : textBody(text, html === undefined)}
      ${attachments.length === 0 ? undefined : attachmentTable(id, attachments)}`;
}

/** An empty `sandbox` forbids everything that it can; the document's own policy forbids the same and remote content. */
function htmlFrame(id: string): Markup {
  return escapeHtml`<section>
        <h2>HTML</h2>
        <iframe sandbox="" referrerpolicy="no-referrer" title="The message's html" src="/mailbox/${id}/html"></iframe>
        <p class="hint">Scripts, forms and everything remote are switched off in here.</p>
      </section>`;
}

function textBody(text: string, isOpen: boolean): Markup {
  const body = escapeHtml`<pre class="text" dir="auto">${displayBody(text, MAX_TEXT_LENGTH)}</pre>`;
  return isOpen
    ? escapeHtml`<section><h2>Text</h2>${body}</section>`
    : escapeHtml`<details><summary>Text</summary>${body}</details>`;
}

function attachmentTable(id: string, attachments: readonly MessagePart[]): Markup {
  const rows = attachments.map(
    ({ filename, type, bytes }, index) => escapeHtml`
            <tr>
              <td><a href="/mailbox/${id}/attachments/${index}" download><bdi>${filename}</bdi></a></td>
              <td><bdi>${type}</bdi></td>
              <td class="number">${fileSize(bytes.length)}</td>
            </tr>`,
  );
  return escapeHtml`<section>
        <h2>Attachments</h2>
        <table>
          <thead><tr><th>Name</th><th>Type</th><th class="number">Size</th></tr></thead>
          <tbody>${rows}</tbody>
        </table>
      </section>`;
}

function unreadable(kind: keyof typeof UNREADABLE): Markup {
  return escapeHtml`<p class="card">${UNREADABLE[kind]} Its header is below; the download holds all of it.</p>`;
}

function headerFields(head: readonly HeaderField[]): Markup {
  const fields = head
    .slice(0, MAX_FIELDS)
    .map(
      ({ name, value }) =>
        escapeHtml`<dt><bdi>${displayLine(name, NAME_LENGTH)}</bdi></dt><dd><bdi>${displayLine(value, MAX_FIELD_LENGTH)}</bdi></dd>`,
    );
  return escapeHtml`<details><summary>Header (${head.length})</summary><dl class="fields">${fields}</dl></details>`;
}
