import { AppError } from '../errors/app-error';
import type { Principal } from './principal';

/** What concerns all domains of the organization is not for a key that is bound to one. @throws AppError */
export function requireUnbound({ domainId }: Pick<Principal, 'domainId'>): void {
  if (domainId !== undefined) throw new AppError('domain_not_allowed', 'This API key is bound to one domain');
}
