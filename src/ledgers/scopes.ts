export const SCOPES = [
  'agents:act',
  'agents:manage',
  'audit:read',
  'keys:manage',
  'payloads:erase',
  'peers:manage',
  'policies:write',
  'records:read',
  'records:read:own',
  'records:write',
  'retention:manage',
  'statements:write',
  'types:write',
  'verdicts:overturn',
  'webhooks:manage',
] as const

export type Scope = (typeof SCOPES)[number]
