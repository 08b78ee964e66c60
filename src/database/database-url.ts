/** The address of this process's database, for connections apart from the pool. */
export class DatabaseUrl {
  constructor(readonly url: string) {}
}
