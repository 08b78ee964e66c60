import type { ByteBudget, Reservation } from './byte-budget';

export interface MessageMaker {
  readonly organizationId: string;
  /** Bytes that composing takes at its peak. */
  readonly cost: number;
  /** Loads and composes; it holds on to no content. */
  readonly make: () => Promise<Buffer>;
}

/**
 * The bytes of one message, which the recipients that have the same ones share.
 *
 *   absent ──begin (the first user), or compose ahead──► composing ──► in memory ──the last user ends──► absent
 *
 * Its bytes are in the budget from `begin` on: what composing may take at first, its own size once it is known.
 */
export class ComposedMessage {
  private users = 0;
  private present: { readonly bytes: Promise<Buffer>; readonly reservation: Reservation } | undefined;

  constructor(
    private readonly budget: ByteBudget,
    private readonly maker: MessageMaker,
  ) {}

  /** True when one more user would not exceed the budget. */
  get mayBegin(): boolean {
    return this.present !== undefined || this.budget.mayTakeLarge(this.maker.organizationId, this.maker.cost);
  }

  get isPresent(): boolean {
    return this.present !== undefined;
  }

  /** Composes from content that is loaded, before anyone needs it, on the account of small messages. Counts as one user. */
  composeAhead(make: () => Promise<Buffer>): void {
    this.users += 1;
    if (this.present === undefined) this.compose(make, this.budget.takeAhead(this.maker.cost));
  }

  /** Every call needs one `end`. */
  begin(): Promise<Buffer> {
    this.users += 1;
    const { organizationId, cost, make } = this.maker;
    return (this.present ?? this.compose(make, this.budget.takeLarge(organizationId, cost))).bytes;
  }

  end(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.present?.reservation.free();
    this.present = undefined;
  }

  private compose(make: () => Promise<Buffer>, reservation: Reservation) {
    const bytes = make();
    const present = { bytes, reservation };
    this.present = present;
    // A failure is the attempt's, not the process's.
    bytes.then(
      ({ length }) => this.present === present && reservation.resize(length),
      () => undefined,
    );
    return present;
  }
}
