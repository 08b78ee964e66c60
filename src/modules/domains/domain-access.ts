import { AppError, NotFoundError } from '../../common/errors/app-error';
import type { Principal } from '../../common/http/principal';

type Caller = Pick<Principal, 'domainId'>;

/** A key that is bound to a domain sees only that one. @throws NotFoundError */
export function requireOwn({ domainId }: Caller, id: string): void {
  if (domainId !== undefined && domainId !== id) throw new NotFoundError('Domain');
}

/** What concerns all domains of the organization is not for a key that is bound to one. @throws AppError */
export function requireUnbound({ domainId }: Caller): void {
  if (domainId !== undefined) throw new AppError('domain_not_allowed', 'This API key is bound to one domain');
}
