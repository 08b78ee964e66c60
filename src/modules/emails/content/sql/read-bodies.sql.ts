// Reads an email's content, without bodies that are long: the driver converts a text in one turn of the event loop, 45 ms for 5 MiB that
// are not ASCII. Of those, octet_length reads only the value's header.
// Reads: email_contents (primary key). Locks: none. Rows: one.
// Not the ORM: columns that depend on their lengths.
import type { Statement } from '../../../../database/statements/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';
import type { Addressees } from '../../email.entity';

export type BodyName = 'html' | 'text';

export interface ContentRow {
  /** Null as well where it is long. */
  readonly html: string | null;
  readonly text: string | null;
  /** Null without one. */
  readonly htmlBytes: number | null;
  readonly textBytes: number | null;
  readonly headers: Record<string, string> | null;
  readonly addressees: Addressees;
  /** Number of rows in email_attachments. */
  readonly attachmentCount: number;
  readonly isRaw: boolean;
}

/** From its byte `start` on, or some before it. */
export interface BodyPart {
  readonly start: number;
  readonly part: string;
}

/** Longer bodies are read in parts of so many bytes. */
export const BODY_PART_BYTES = 256 * 1024;

const CONTENT = `
  select
    case when octet_length(html) <= ${BODY_PART_BYTES} then html end as html,
    case when octet_length(text) <= ${BODY_PART_BYTES} then text end as text,
    octet_length(html) as "htmlBytes",
    octet_length(text) as "textBytes",
    headers,
    addressees,
    attachment_count as "attachmentCount",
    is_raw as "isRaw"
  from email_contents
  where organization_id = $1 and mode = $2 and email_id = $3`;

/** Returns one row, or none once the content has been removed. */
export function readContent({ organizationId, mode, emailId }: EmailKey): Statement<ContentRow> {
  return { name: 'read-content', text: CONTENT, values: [organizationId, mode, emailId] };
}

// Reads a long body in parts, none of which ends in the middle of a character.
// Reads: email_contents (primary key). Locks: none. Rows: the parts of one body, in any order: to sort them, Postgres
// would write them to a file.
// Not the ORM: parts of a value. In one statement, since each would decompress all of the value.

/** Where a part begins that would begin at `offset`: no more than three bytes before (RFC 3629). */
const boundary = (offset: string): string => `(
  select case
    when o = 0 or o >= length or get_byte(bytes, o) & 192 <> 128 then o
    when get_byte(bytes, o - 1) & 192 <> 128 then o - 1
    when get_byte(bytes, o - 2) & 192 <> 128 then o - 2
    else o - 3
  end as place
  from (select ${offset} as o) given
)`;

const partsOf = (body: BodyName): string => `
  select start, convert_from(substring(bytes from beginning.place + 1 for ending.place - beginning.place), 'UTF8') as part
  from (
    select bytes, octet_length(bytes) as length
    from (
      select convert_to(${body}, 'UTF8') as bytes
      from email_contents
      where organization_id = $1 and mode = $2 and email_id = $3
      offset 0
    ) converted
    offset 0
  ) body
  cross join lateral generate_series(0, length - 1, ${BODY_PART_BYTES}) as part (start)
  cross join lateral ${boundary('start')} as beginning
  cross join lateral ${boundary(`start + ${BODY_PART_BYTES}`)} as ending`;

const PARTS: Readonly<Record<BodyName, string>> = { html: partsOf('html'), text: partsOf('text') };

/** Returns no row for a body that is missing or empty. */
export function readBodyParts({ organizationId, mode, emailId }: EmailKey, body: BodyName): Statement<BodyPart> {
  return { name: `read-${body}-parts`, text: PARTS[body], values: [organizationId, mode, emailId] };
}
