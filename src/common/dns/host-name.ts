const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;

/**
 * True for a name that the DNS can be asked for as a host: labels of 1–63 letters, digits, hyphens and underscores
 * (which service names such as `_dmarc` need), 253 characters in all, one last dot allowed (RFC 1035 section 2.3.4).
 */
export function isHostName(name: string): boolean {
  const bare = name.endsWith('.') ? name.slice(0, -1) : name;
  return bare.length <= 253 && bare.split('.').every((label) => LABEL.test(label));
}
