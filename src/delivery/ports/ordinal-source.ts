/** Where the engine gets the short numbers that name organizations in return paths; bound to auth by the root module. */
export abstract class OrdinalSource {
  /** Ordinals by organization id; unknown organizations are left out. */
  abstract ordinalsOf(organizationIds: readonly string[]): Promise<Map<string, number>>;
}
