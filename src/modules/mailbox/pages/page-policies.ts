/** The pages: no script, no inline style, nothing from elsewhere; only the message's own document in a frame. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; frame-src 'self'; frame-ancestors 'self'; form-action 'self'; base-uri 'none'";

/**
 * A message's html, which is hostile until proven otherwise: an origin of its own (`sandbox`, which also holds when the
 * document is opened outside its frame), no script, no form, nothing remote.
 */
export const MESSAGE_POLICY =
  "default-src 'none'; img-src data: cid:; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'; form-action 'none'; base-uri 'none'";

export const HTML_TYPE = 'text/html; charset=utf-8';
