import { NotFoundError } from '../../common/errors/app-error';
import type { Principal } from '../../common/http/principal';

/** A key that is bound to a domain sees only that one. @throws NotFoundError */
export function requireOwn({ domainId }: Pick<Principal, 'domainId'>, id: string): void {
  if (domainId !== undefined && domainId !== id) throw new NotFoundError('Domain');
}
