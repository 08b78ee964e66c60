/** An SMTP reply as far as a text shows one. */
export interface FoundReply {
  readonly code?: number;
  readonly enhancedCode?: string;
  /** From the reply code on; without one, all of it. */
  readonly text: string;
}

/** `550 5.1.1 …`, `550-5.1.1`, `550 #5.1.1`: unmistakable anywhere. */
const BOTH_CODES = /(?<![\w.-])([45][0-7]\d)[ -]{1,2}(?:smtp; ?)?[#(]{0,2}([45]\.\d{1,3}\.\d{1,3})(?!\d|\.\d)/i;
/** A lone number counts only where replies stand: at the beginning, or behind a colon, a bracket, `said`, `error`. */
const CODE_ALONE = /(?:^|[:;#<>"'(=[\]] ?|\bsaid |\berror |\breply |\bcode |\bstatus )[<([]?([45][0-7]\d)[ :-](?!\d)/i;
/** `#5.1.1`, `(5.1.1)`: no address, no version. */
const ENHANCED_ALONE = /(?:^|[\s#(:;<['"])([45]\.[0-7]\.\d{1,3})(?=[\s)>:;,\]#-]|$)/;

/** The first SMTP reply in a text of one line or a few; undefined when it has none. All patterns are linear. */
export function findReply(text: string): FoundReply | undefined {
  const both = BOTH_CODES.exec(text);
  if (both) return { code: Number(both[1]), enhancedCode: both[2], text: text.slice(both.index) };
  const enhancedCode = ENHANCED_ALONE.exec(text)?.[1];
  const alone = CODE_ALONE.exec(text);
  if (!alone?.[1]) return enhancedCode === undefined ? undefined : { enhancedCode, text };
  return { code: Number(alone[1]), enhancedCode, text: text.slice(alone.index + alone[0].indexOf(alone[1])) };
}
