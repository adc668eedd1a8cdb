/**
 * Owner of all requests whose sender has proved nothing, whichever sender they claim. All these requests together have
 * one small quota. What they use never affects proven owners.
 */
export const UNPROVEN = 'unproven'
