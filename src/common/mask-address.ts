/** An address as it may be shown to whoever holds a link: `j***@example.com`. */
export function maskAddress(email: string): string {
  const at = email.lastIndexOf('@');
  const [first = ''] = email.slice(0, Math.max(0, at));
  return `${first}***${email.slice(at)}`;
}
