/** A mailbox as RFC 5322 names it: an address with an optional display name. */
export interface Mailbox {
  /** Normal form: the domain in lower-case A-labels, the local part as given. */
  readonly email: string;
  readonly name?: string;
}
