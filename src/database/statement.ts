/**
 * One hot statement: fixed text, prepared once per connection under its name.
 * The row type is what the final select aliases to camelCase, so that no mapper is needed.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
  /** Carries the row type; never set. */
  readonly row?: Row;
}
