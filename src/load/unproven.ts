/**
 * Owner of all requests whose sender has proved nothing, whatever sender they name. Together they have one small
 * quota. It never influences decisions about proven owners.
 */
export const UNPROVEN = 'unproven'
