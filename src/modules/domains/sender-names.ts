import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import { type DomainName, normalizeDomainName, refusedName } from './domain-name';
import { isOwnName } from './own-names';

/** Which names customers may send from. */
@Injectable()
export class SenderNames {
  constructor(private readonly config: AppConfig) {}

  /** @throws ValidationError for what `normalizeDomainName` refuses, and for the service's own names */
  normalize(text: string): DomainName {
    const name = normalizeDomainName(text);
    if (isOwnName(name.domain, this.config)) throw refusedName('must not be a host name of this service');
    return name;
  }
}
