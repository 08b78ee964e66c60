/**
 * One hot statement: fixed text, prepared once per connection under its name.
 * The row type is what the final select aliases to camelCase, so that no mapper is needed.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
  /**
   * One plan for any values, whatever those of a call would bring: for statements that take longer to plan than to run. Only where all
   * tables are on one node: others plan each call for its values, to know the node.
   */
  readonly isPlannedOnce?: true;
  /**
   * It reads a whole table, in the order of its pages: in the order of an index, rows of many organizations that were written in turn take a
   * page each (a million: 20 s instead of 1 s). Only for `Database.run`.
   */
  readonly isScan?: true;
  /** Carries the row type; never set. */
  readonly row?: Row;
}
