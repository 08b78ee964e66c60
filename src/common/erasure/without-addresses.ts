/** Of an address: what it may consist of, as it is, or as JSON and HTML escape it. */
const CHARACTER = String.raw`(?:[^\s@<>"'${'`'},;:()[\]{}=&/\\]|\\{1,4}u[0-9a-f]{4}|&#x?[0-9a-f]{1,6};)`;
/** Also as it stands in a query, in JSON and in HTML. */
const AT = String.raw`(?:@|%(?:25){0,2}40|\\{1,4}u0040|&#(?:64|x40);|&commat;)`;
/** Bounded, so that no text makes it slow. One that the end of the text cuts is one too. */
const ADDRESS = new RegExp(`${CHARACTER}{1,64}${AT}(?:${CHARACTER}{1,255}|$)`, 'gi');

/** Other people's words without addresses: for places that erasures do not look into. */
export function withoutAddresses(text: string): string {
  return text.replace(ADDRESS, '[address]');
}
