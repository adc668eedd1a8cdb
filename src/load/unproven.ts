/**
 * Owner of all requests without proof of their sender, whatever sender they name. Together they have one small quota.
 * Decisions about proven owners do not depend on it.
 */
export const UNPROVEN = 'unproven'
