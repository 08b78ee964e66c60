import { QuoteType, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { EVENT_LOOP, OUTGOING } from '../../common/async/fair-turns';
import { parseUrl } from '../../common/network';

export interface HtmlTracking {
  /** Requested when the mail is opened; absent: opens are not tracked. */
  readonly pixelUrl?: string | undefined;
  /** The replacement of a link; undefined keeps the link. Absent: clicks are not tracked. */
  readonly linkFor?: ((url: string) => string | undefined) | undefined;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * The html with its links rewritten by `linkFor` and a pixel at the end of its body. Not one other character changes: mail html
 * relies on quirks of mail programs that a serializer would alter.
 */
export function trackHtml(html: string, tracking: HtmlTracking): string {
  return withLinks(html, findLinks(html), tracking);
}

/** Longer html is processed in several turns: a dozen such mails may arrive together. */
const LARGE = 16 * 1024;

/** The same of html of any size. */
export async function trackHtmlInTurns(html: string, tracking: HtmlTracking): Promise<string> {
  return html.length <= LARGE ? trackHtml(html, tracking) : withLinks(html, await findLinksInTurns(html), tracking);
}

function withLinks(
  html: string,
  { links, bodyEnd = html.length }: HtmlLinks,
  { pixelUrl, linkFor }: HtmlTracking,
): string {
  const edits: Edit[] = [];
  for (const { url, ...place } of linkFor ? links : []) {
    const link = linkFor?.(url);
    if (link !== undefined) edits.push({ ...place, text: escapeValue(link) });
  }
  if (pixelUrl !== undefined) edits.push({ start: bodyEnd, end: bodyEnd, text: pixelOf(pixelUrl) });
  return applyEdits(html, edits);
}

/** Fits values in quotes of either kind and, for addresses, values without. */
function escapeValue(value: string): string {
  return value.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/**
 * A background, and an image for the one family of programs that shows none (Outlook on Windows reads such comments). Filters
 * take a short text with any `img` for a picture of a text, and `display:none` for hidden words: 1.2 to 2 points of
 * SpamAssassin's 5, for an address that is not shown.
 */
function pixelOf(url: string): string {
  const [address, size] = [escapeValue(url), 'width="1" height="1"'];
  const background = `<table role="presentation" background="${address}" ${size} border="0" cellpadding="0" cellspacing="0"><tr><td></td></tr></table>`;
  return `${background}<!--[if mso]><img src="${address}" ${size} alt=""><![endif]-->`;
}

function applyEdits(html: string, edits: readonly Edit[]): string {
  let at = 0;
  let edited = '';
  for (const { start, end, text } of edits.toSorted((one, other) => one.start - other.start)) {
    edited += html.slice(at, start) + text;
    at = end;
  }
  return edited + html.slice(at);
}

/** A link that a reader can follow to the web. */
export interface HtmlLink {
  /** Where the value of its `href` stands in the html, without quotes. */
  readonly start: number;
  readonly end: number;
  /** What the value means: `webUrlOf` it. */
  readonly url: string;
}

export interface HtmlLinks {
  /** In order, at most `MAX_LINKS`. */
  readonly links: readonly HtmlLink[];
  /** Where the last `</body>` begins; undefined without any. */
  readonly bodyEnd: number | undefined;
}

/** A mail with more is no mail to people; each link adds up to 3 kB to it. */
export const MAX_LINKS = 1_000;

const SWITCH = 'data-waybill-track';
const LINK_ELEMENTS = new Set(['a', 'area']);
/** Void elements: they have no end tag. */
const VOID_ELEMENTS = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
/** Elements that are not displayed. The tokenizer handles script, style, title, textarea and xmp. */
const HIDDEN_ELEMENTS = new Set(['template', 'iframe', 'noembed', 'noframes']);
/** From the end of an attribute's name to its value. */
const TO_VALUE = /[\t\n\f\r ]*=[\t\n\f\r ]*["']?/y;

/**
 * Finds the links of a mail to people, except those switched off by `data-waybill-track="off"` at the element or one around it.
 * Comments (conditional ones too), CDATA, scripts and the like have none.
 *
 * Takes time and memory in proportion to the html, whatever is in it: therefore the tokenizer alone, without a tree.
 */
export function findLinks(html: string): HtmlLinks {
  const finder = new LinkFinder(html);
  const tokenizer = new Tokenizer({}, finder);
  tokenizer.write(html);
  tokenizer.end();
  return finder;
}

/** Characters that the tokenizer reads in one turn of the event loop: some milliseconds. */
const TURN = 128 * 1024;

/** The same of html of megabytes, with turns of the event loop in between: 5 MiB of tags took a tenth of a second. */
export async function findLinksInTurns(html: string, turn = TURN): Promise<HtmlLinks> {
  const finder = new LinkFinder(html);
  const tokenizer = new Tokenizer({}, finder);
  for (let at = 0; at < html.length; at += turn) {
    await EVENT_LOOP.next(OUTGOING);
    tokenizer.write(html.slice(at, at + turn));
  }
  tokenizer.end();
  return finder;
}

interface Attribute {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** An element whose links are passed over. Without an end tag of its own it reaches to the end of the mail. */
interface Untracked {
  readonly element: string;
  /** How many elements of that name are open. */
  depth: number;
}

class LinkFinder implements TokenizerCallbacks, HtmlLinks {
  readonly links: HtmlLink[] = [];
  bodyEnd: number | undefined;

  private element = '';
  /** Of the tag that is being read; of two with one name the first counts. */
  private readonly attributes = new Map<string, Attribute>();
  private attribute = '';
  private valueStart = 0;
  private value = '';
  private untracked: Untracked | undefined;

  constructor(private readonly html: string) {}

  onopentagname(start: number, end: number): void {
    this.element = this.html.slice(start, end).toLowerCase();
    this.attributes.clear();
  }

  onattribname(start: number, end: number): void {
    this.attribute = this.html.slice(start, end).toLowerCase();
    this.value = '';
    TO_VALUE.lastIndex = end;
    this.valueStart = TO_VALUE.test(this.html) ? TO_VALUE.lastIndex : end;
  }

  onattribdata(start: number, end: number): void {
    this.value += this.html.slice(start, end);
  }

  onattribentity(codePoint: number): void {
    this.value += String.fromCodePoint(codePoint);
  }

  onattribend(quote: QuoteType, end: number): void {
    if ((this.attribute !== 'href' && this.attribute !== SWITCH) || this.attributes.has(this.attribute)) return;
    const isQuoted = quote === QuoteType.Single || quote === QuoteType.Double;
    const attribute = { start: this.valueStart, end: isQuoted ? end - 1 : end, value: this.value };
    this.attributes.set(this.attribute, attribute);
  }

  onopentagend(): void {
    if (this.untracked) {
      if (this.element === this.untracked.element) this.untracked.depth += 1;
    } else if (HIDDEN_ELEMENTS.has(this.element) || this.isSwitchedOff()) {
      if (!VOID_ELEMENTS.has(this.element)) this.untracked = { element: this.element, depth: 1 };
    } else if (LINK_ELEMENTS.has(this.element)) {
      this.addLink(this.attributes.get('href'));
    }
  }

  onselfclosingtag(): void {
    this.onopentagend();
  }

  onclosetag(start: number, end: number): void {
    const element = this.html.slice(start, end).toLowerCase();
    if (element === 'body' && !HIDDEN_ELEMENTS.has(this.untracked?.element ?? '')) {
      this.bodyEnd = this.html.lastIndexOf('<', start);
    }
    if (element !== this.untracked?.element) return;
    this.untracked.depth -= 1;
    if (this.untracked.depth === 0) this.untracked = undefined;
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}
  ontext(): void {}
  ontextentity(): void {}

  private isSwitchedOff(): boolean {
    return this.attributes.get(SWITCH)?.value.trim().toLowerCase() === 'off';
  }

  private addLink(href: Attribute | undefined): void {
    if (!href || this.links.length >= MAX_LINKS) return;
    const url = webUrlOf(href.value);
    if (url !== undefined) this.links.push({ start: href.start, end: href.end, url });
  }
}

/** `https:host` and the like are left out: what they mean depends on the page that they stand in. */
const ABSOLUTE = /^[\0-\x20]*https?:\/\//i;
/** No program follows a longer one, and the parser takes a third of a second for some that have megabytes. */
const MAX_ADDRESS = 64 * 1024;

/**
 * The address that a browser asks for when it follows this one, printable ASCII (WHATWG URL); undefined unless that is
 * an absolute one of http or https without credentials, and of no more than 64 KiB.
 */
export function webUrlOf(address: string): string | undefined {
  const url = address.length <= MAX_ADDRESS && ABSOLUTE.test(address) ? parseUrl(address) : undefined;
  return url?.username === '' && url.password === '' ? url.href : undefined;
}
