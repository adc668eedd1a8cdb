import { type MasterKey, makeMasterKey } from './master-key.ts'

/**
 * Returns the master key. While a new key replaces it (docs/operate/secrets.md), the result contains both keys: both
 * can open secrets, and one of them seals.
 *
 * Processes receive the new key one after another. A process without the new key must be able to open the secrets that
 * other processes seal. So all processes seal with the previous key until the database switches. `npm run op --
 * rotate-master-key` seals everything again, and the server keys last. When a process then reads a server key, it
 * switches to the new key (`followSealed`).
 */
export function makeMasterKeys(current: Uint8Array, previous: Uint8Array | null): MasterKey {
  if (previous === null) return makeMasterKey(current)
  const keys = [makeMasterKey(current), makeMasterKey(previous)] as const
  let sealing: MasterKey = keys[0]
  const opening = (sealed: Uint8Array, context: string): [MasterKey, Buffer] => {
    try {
      return [keys[0], keys[0].open(sealed, context)]
    } catch {
      return [keys[1], keys[1].open(sealed, context)]
    }
  }
  return {
    seal: (secret, context) => sealing.seal(secret, context),
    open: (sealed, context) => opening(sealed, context)[1],
    databaseMac: (chunks) => sealing.databaseMac(chunks),
    databaseKeys: () => keys.flatMap((key) => key.databaseKeys()),
    mac: (text, context) => sealing.mac(text, context),
    isMac: (mac, text, context) => keys.some((key) => key.isMac(mac, text, context)),
    followSealed(sealed, context) {
      sealing = opening(sealed, context)[0]
    },
  }
}
