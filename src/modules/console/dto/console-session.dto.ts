import { IsOptional, IsString, Length } from 'class-validator';
import { QueryBoolean } from '../../../common/http/dto/dto-decorators';
import { ValidationError } from '../../../common/errors/app-error';

/** Exactly one of both. */
export class SignInDto {
  /** An API key. */
  @IsOptional() @IsString() @Length(1, 200) key?: string;
  /** The token of a sign-in link. */
  @IsOptional() @IsString() @Length(1, 200) link?: string;
}

export type Credential = { readonly key: string } | { readonly link: string };

/** @throws ValidationError */
export function toCredential({ key, link }: SignInDto): Credential {
  if (key !== undefined && link === undefined) return { key };
  if (link !== undefined && key === undefined) return { link };
  throw new ValidationError({ key: ['key or link is needed, and not both'] });
}

export class SignOutQuery {
  @QueryBoolean() everywhere: boolean = false;
}
