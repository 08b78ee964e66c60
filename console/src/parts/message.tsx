import { type ReactNode, useState } from 'react';
import { Button, Copied } from './button';
import { bytes } from './format';
import { type Tab } from './tabs';
import { Foreign } from './text';

/** A document from outside, in a frame that may do nothing: no script, no form, nothing from elsewhere except on request. */
export function HtmlFrame({ src, title }: { src: string; title: string }) {
  const [remote, setRemote] = useState(false);
  return (
    <>
      <div className="row between">
        <span className="hint">
          {remote ? 'Pictures of other hosts are loaded.' : 'Scripts, forms, links and everything remote are off.'}
        </span>
        <Button small onClick={() => setRemote(!remote)} aria-pressed={remote}>
          {remote ? 'Block remote pictures' : 'Load remote pictures'}
        </Button>
      </div>
      <iframe
        className="preview"
        sandbox=""
        referrerPolicy="no-referrer"
        title={title}
        src={remote ? `${src}?remote=true` : src}
      />
    </>
  );
}

interface Attached {
  readonly filename: string;
  readonly contentType: string;
  readonly size: number;
}

interface Message<Attachment extends Attached> {
  readonly html?: string | undefined;
  readonly text?: string | undefined;
  readonly attachments: readonly Attachment[];
}

interface MessageTabs<Attachment extends Attached> {
  readonly message: Message<Attachment>;
  /** Of the preview. */
  readonly frame: { readonly src: string; readonly title: string };
  readonly headers: ReactNode;
  /** Where an attachment is downloaded; without it they are named only. */
  readonly hrefOf?: (attachment: Attachment) => string;
}

/** A message as it looks, and in its parts. */
export function messageTabs<Attachment extends Attached>(props: MessageTabs<Attachment>): Tab[] {
  const { message, frame, headers, hrefOf } = props;
  const { html, text, attachments } = message;
  return [
    ...(html === undefined ? [] : [{ name: 'Preview', content: <HtmlFrame {...frame} /> }]),
    ...(text === undefined ? [] : [{ name: 'Text', content: <pre className="code">{text}</pre> }]),
    ...(html === undefined ? [] : [{ name: 'HTML', content: <pre className="code">{html}</pre> }]),
    { name: 'Headers', content: headers },
    ...(attachments.length === 0
      ? []
      : [{ name: `Attachments (${attachments.length})`, content: attachmentList(attachments, hrefOf) }]),
  ];
}

function attachmentList<Attachment extends Attached>(
  attachments: readonly Attachment[],
  hrefOf: ((attachment: Attachment) => string) | undefined,
): ReactNode {
  return (
    <ul className="stack">
      {attachments.map((attachment, index) => (
        <li key={index} className="row between">
          {hrefOf ? (
            <a className="break" href={hrefOf(attachment)} download={attachment.filename}>
              <Foreign>{attachment.filename}</Foreign>
            </a>
          ) : (
            <Foreign className="break">{attachment.filename}</Foreign>
          )}
          <span className="soft">
            <Foreign>{attachment.contentType}</Foreign> · {bytes(attachment.size)}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The last line of details: the id to quote, and to search for in a log. */
export function idFact(id: string): readonly [name: string, value: ReactNode] {
  return ['Id', <Copied key="id" text={id} what="the id" />];
}
