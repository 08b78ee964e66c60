import { Parser } from 'htmlparser2';
import { inTurns } from '../../common/async/text-in-turns';
import { displayLine } from '../../common/http/responses/downloads';
import { parseUrl } from '../../common/network';

/** A link of a message's html. */
export interface MessageLink {
  readonly href: string;
  /** What it says; empty where it is a picture. */
  readonly text: string;
}

const MAX_LINKS = 100;
const MAX_HREF_LENGTH = 2_000;
const MAX_TEXT_LENGTH = 100;
const FOLLOWED = new Set(['http:', 'https:', 'mailto:']);

/** The links that lead somewhere, each address once, in their order: the frame with the html follows none. */
export async function linksOf(html: string): Promise<MessageLink[]> {
  const links = new Map<string, MessageLink>();
  let open: { readonly href: string; text: string } | undefined;
  const close = () => {
    if (open && links.size < MAX_LINKS && !links.has(open.href)) {
      links.set(open.href, { href: open.href, text: displayLine(open.text, MAX_TEXT_LENGTH) });
    }
    open = undefined;
  };
  const parser = new Parser({
    onopentag: (name, { href }) => {
      if (name !== 'a' && name !== 'area') return;
      close();
      const address = addressOf(href);
      if (address !== undefined) open = { href: address, text: '' };
    },
    ontext: (text) => {
      if (open && open.text.length < MAX_TEXT_LENGTH) open.text += text;
    },
    onclosetag: (name) => {
      if (name === 'a' || name === 'area') close();
    },
  });
  await inTurns(html, (piece) => parser.write(piece));
  parser.end();
  close();
  return [...links.values()];
}

/** As a browser reads it; undefined for what leads nowhere, or would do something. */
function addressOf(href: string | undefined): string | undefined {
  const url = href === undefined ? undefined : parseUrl(href.trim());
  if (!url || !FOLLOWED.has(url.protocol) || url.href.length > MAX_HREF_LENGTH) return undefined;
  return url.href;
}
