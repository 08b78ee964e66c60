import { escapeHtml, type Markup } from '../../common/http/responses/html-page';
import type { MessageLink } from './message-links';
import type { ListedMessage, MailboxPage, OpenMessage } from './mailbox.service';
import { decodedField, type HeaderField, type MessageContent, type MessagePart } from './message-reader';
import { displayLine } from '../../common/http/responses/downloads';
import { displayBody, fileSize, layout, time } from './page-layout';

const REFRESH_SECONDS = 5;
/** A message to very many recipients would fill the list. */
const MAX_RECIPIENTS_SHOWN = 3;

/** Data for the page of an empty mailbox. */
export interface FirstSteps {
  /** No slash at the end. */
  readonly publicUrl: string;
  /** Path of the first start's keys, relative to the working directory. */
  readonly credentialsFile: string;
}

/**
 * The list of messages, newest first. A live one reloads itself, which would lose what is written in a field, and the place of a user
 * who moves by the keyboard: it has no field, and a link stops it.
 */
export function listPage(mailbox: MailboxPage, firstSteps: FirstSteps, live = true): string {
  const isLive = live && mailbox.search === '';
  const body = escapeHtml`<header>
      <h1>Mailbox</h1>
      ${summary(mailbox)}
      ${tools(mailbox, isLive)}
    </header>
    <main>${content(mailbox, firstSteps)}</main>
    ${pager(mailbox, isLive)}`;
  return layout({
    title: `Mailbox (${mailbox.total})`,
    body,
    refreshSeconds: isLive ? REFRESH_SECONDS : undefined,
  });
}

function summary({ total, search }: MailboxPage): Markup | undefined {
  if (total === 0 && search === '') return undefined;
  const found = search === '' ? ', newest first' : ' found';
  return escapeHtml`<p>${total} ${total === 1 ? 'message' : 'messages'}${found}. Times are UTC.</p>`;
}

function tools({ total, search }: MailboxPage, isLive: boolean): Markup | undefined {
  if (total === 0 && search === '') return undefined;
  const deleteAll = escapeHtml`<a class="button danger" href="/mailbox/delete">Delete all</a>`;
  if (isLive) {
    return escapeHtml`<div class="tools"><a class="button" href="/mailbox?live=false">Search, or stop reloading</a>${deleteAll}</div>`;
  }
  return escapeHtml`<div class="tools">
        <form method="get" action="/mailbox" role="search">
          <input type="search" name="q" value="${search}" aria-label="Sender, recipient or subject" placeholder="Sender, recipient or subject" maxlength="200" />
          <button class="button">Search</button>
        </form>
        <a class="button" href="/mailbox">Show all, live</a>
        ${search === '' ? deleteAll : undefined}
      </div>`;
}

/** Asks before all messages are deleted: they belong to everyone who uses this installation. */
export function deletePage(total: number): string {
  const what = `${total} ${total === 1 ? 'message' : 'messages'}`;
  const body = escapeHtml`<header><h1>Delete all messages?</h1></header>
    <main class="card">
      <p>The mailbox has ${what}, of all organizations. This cannot be undone; the emails in the console stay.</p>
      <div class="tools">
        <a class="button" href="/mailbox">Keep them</a>
        <form method="post" action="/mailbox/delete"><button class="button danger">Delete ${what}</button></form>
      </div>
    </main>`;
  return layout({ title: 'Delete all messages?', body });
}

function content(mailbox: MailboxPage, firstSteps: FirstSteps): Markup {
  if (mailbox.total > 0) return table(mailbox);
  if (mailbox.search === '') return emptyMailbox(firstSteps);
  return escapeHtml`<p class="card">No matching messages.</p>`;
}

function table({ messages }: MailboxPage): Markup {
  return escapeHtml`<table class="list">
      <thead>
        <tr><th>Received</th><th>From</th><th>To</th><th>Subject</th><th class="number">Size</th></tr>
      </thead>
      <tbody>${messages.map(row)}</tbody>
    </table>`;
}

function row({ id, receivedAt, sender, returnPath, recipients, subject, size }: ListedMessage): Markup {
  return escapeHtml`
        <tr>
          <td class="when">${time(receivedAt)}</td>
          <td class="from"><bdi>${sender || returnPath || '(unknown)'}</bdi></td>
          <td class="to"><bdi>${shortList(recipients)}</bdi></td>
          <td class="subject"><a href="/mailbox/${id}"><bdi>${subject || '(no subject)'}</bdi></a></td>
          <td class="number">${fileSize(size)}</td>
        </tr>`;
}

function shortList(recipients: readonly string[]): string {
  const more = recipients.length - MAX_RECIPIENTS_SHOWN;
  return recipients.slice(0, MAX_RECIPIENTS_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function pager({ page, pageCount, search }: MailboxPage, isLive: boolean): Markup | undefined {
  if (pageCount === 1 && page === 1) return undefined;
  const stopped = isLive ? '' : '&live=false';
  const query = search === '' ? stopped : `&q=${encodeURIComponent(search)}`;
  const newer = page > 1 ? escapeHtml`<a rel="prev" href="/mailbox?page=${page - 1}${query}">Newer</a>` : undefined;
  const older =
    page < pageCount ? escapeHtml`<a rel="next" href="/mailbox?page=${page + 1}${query}">Older</a>` : undefined;
  return escapeHtml`<nav>${newer}<span>Page ${page} of ${pageCount}</span>${older}</nav>`;
}

function emptyMailbox({ publicUrl, credentialsFile }: FirstSteps): Markup {
  return escapeHtml`<section class="card">
      <h2>No mail yet</h2>
      <p>
        In local mode every message that the service delivers ends here instead of leaving this machine. Send one with a
        live key (mail of test keys meets the simulator and never arrives):
      </p>
      <pre>KEY=$(node -p "require('${credentialsFile}').liveKey")
curl ${publicUrl}/v1/emails \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"to": ["ada@example.com"], "subject": "Hello", "html": "&lt;h1&gt;It works&lt;/h1&gt;"}'</pre>
      <p>This page reloads every ${REFRESH_SECONDS} seconds.</p>
    </section>`;
}

const MAX_TEXT_LENGTH = 200_000;
const MAX_FIELDS = 300;
const MAX_FIELD_LENGTH = 4_000;
const NAME_LENGTH = 100;

/** One message: envelope, its html in a sandbox, its links, its text, its attachments, its header. */
export function messagePage({ message, head, content }: OpenMessage, links: readonly MessageLink[] = []): string {
  const title = message.subject || '(no subject)';
  const body = escapeHtml`<header>
      <p><a href="/mailbox">&larr; Mailbox</a></p>
      <h1><bdi>${title}</bdi></h1>
    </header>
    <main>
      ${envelope(message, head)}
      ${content.kind === 'parts' ? parts(message.id, content, links) : unreadable()}
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

type Parts = Extract<MessageContent, { kind: 'parts' }>;

function parts(id: string, { html, text, attachments }: Parts, links: readonly MessageLink[]): Markup {
  return escapeHtml`${html === undefined ? undefined : htmlFrame(id)}
      ${links.length === 0 ? undefined : linkList(links)}
      ${text === undefined ? undefined : textBody(text, html === undefined)}
      ${attachments.length === 0 ? undefined : attachmentTable(id, attachments)}`;
}

/** An empty `sandbox` attribute denies all permissions; the document's own policy denies the same and remote content. */
function htmlFrame(id: string): Markup {
  return escapeHtml`<section>
        <h2>HTML</h2>
        <iframe sandbox="" referrerpolicy="no-referrer" title="The message's html" src="/mailbox/${id}/html"></iframe>
        <p class="hint">Scripts, forms, links and everything remote are switched off in here.</p>
      </section>`;
}

/** The same links where they can be followed, with the address that each leads to. */
function linkList(links: readonly MessageLink[]): Markup {
  const items = links.map(
    ({ href, text }) => escapeHtml`
          <li><bdi>${text}</bdi> <a href="${href}" target="_blank" rel="noreferrer">${href}</a></li>`,
  );
  return escapeHtml`<section>
        <h2>Links</h2>
        <ul class="card links">${items}</ul>
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

function unreadable(): Markup {
  return escapeHtml`<p class="card">This message is too large to be parsed here. Its header is below; the download holds all of it.</p>`;
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
