const TAG_NAME = /^[a-z][a-z0-9_]*$/i;

/**
 * The tags of a DKIM or DMARC record in their order (RFC 6376 section 3.2): names are case-sensitive, white space around
 * names and values does not count. Undefined for anything else, which a tag that is there twice makes it too.
 */
export function parseTagList(text: string): ReadonlyMap<string, string> | undefined {
  const tags = new Map<string, string>();
  for (const tag of text.replace(/;\s*$/, '').split(';')) {
    const equals = tag.indexOf('=');
    const name = tag.slice(0, Math.max(equals, 0)).trim();
    if (!TAG_NAME.test(name) || tags.has(name)) return undefined;
    tags.set(name, tag.slice(equals + 1).trim());
  }
  return tags;
}

export function firstTag(tags: ReadonlyMap<string, string>): string | undefined {
  return tags.keys().next().value;
}
