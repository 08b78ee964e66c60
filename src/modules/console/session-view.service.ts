import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../../auth/keys/api-keys.service';
import { type Caller, ConsoleSessionsService } from '../../auth/console-sessions/console-sessions.service';
import { OperatorKeysService } from '../../auth/keys/operator-keys.service';
import { OrganizationsService } from '../../auth/organizations/organizations.service';
import type { Operator, Principal } from '../../common/http/principal';
import { RELEASE } from '../../common/release';
import { AppConfig } from '../../config/config';

interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly mode?: string;
  readonly scopes: readonly string[];
  readonly domainId?: string;
  /** Made by a sign-in link for this session alone. */
  readonly sessionOnly?: true;
}

/** Who is signed in, and what the service around them is: what the console needs before it shows its first page. */
export interface SessionView {
  readonly kind: 'tenant' | 'operator';
  readonly organization?: { readonly id: string; readonly name: string };
  readonly key: KeyView;
  readonly service: {
    readonly version: string;
    readonly deliveryMode: string;
    readonly publicUrl: string;
    readonly simulatorDomain: string;
  };
}

/** What the console shows of a session: who is signed in, and with which rights. */
@Injectable()
export class SessionViewService {
  constructor(
    private readonly sessions: ConsoleSessionsService,
    private readonly keys: ApiKeysService,
    private readonly operatorKeys: OperatorKeysService,
    private readonly organizations: OrganizationsService,
    private readonly config: AppConfig,
  ) {}

  /** @throws AppError invalid_api_key once the session or its key has ended */
  async current(token: string): Promise<SessionView> {
    return this.of(await this.sessions.callerOf(token));
  }

  of({ principal, operator }: Caller): Promise<SessionView> {
    return principal ? this.ofTenant(principal) : this.ofOperator(operator);
  }

  private async ofTenant({ organizationId, apiKeyId, domainId, scopes }: Principal): Promise<SessionView> {
    const { name } = await this.organizations.get(organizationId);
    const key = await this.keys.get(organizationId, apiKeyId);
    const bound = domainId === undefined ? {} : { domainId };
    const { id, name: keyName, prefix, mode } = key;
    const shown = { id, name: keyName, prefix, mode, scopes: [...scopes], ...bound, ...ownOf(key) };
    return { kind: 'tenant', organization: { id: organizationId, name }, key: shown, service: this.service() };
  }

  private async ofOperator({ keyId, scopes }: Operator): Promise<SessionView> {
    const key = await this.operatorKeys.get(keyId);
    const { id, name, prefix } = key;
    return { kind: 'operator', key: { id, name, prefix, scopes: [...scopes], ...ownOf(key) }, service: this.service() };
  }

  private service(): SessionView['service'] {
    const { delivery, http, simulatorDomain } = this.config;
    return { version: RELEASE, deliveryMode: delivery.mode, publicUrl: http.publicUrl, simulatorDomain };
  }
}

function ownOf({ sessionOnly }: { readonly sessionOnly: boolean }): Pick<KeyView, 'sessionOnly'> {
  return sessionOnly ? { sessionOnly } : {};
}
