import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const portFile = (dataDir: string) => join(dataDir, 'port')

/** Returns the wanted port. If `wanted` is null, returns the remembered port if it is free, otherwise any free port. */
export async function choosePort(dataDir: string, wanted: number | null): Promise<number> {
  if (wanted !== null) {
    if (await isFree(wanted)) return wanted
    throw new Error(`port ${wanted} on 127.0.0.1 is in use, and Postgres was configured to use it`)
  }
  const remembered = readRemembered(dataDir)
  if (remembered !== null && (await isFree(remembered))) return remembered
  return bind(0)
}

export function rememberPort(dataDir: string, port: number): void {
  writeFileSync(portFile(dataDir), `${port}\n`)
}

function readRemembered(dataDir: string): number | null {
  try {
    const port = Number(readFileSync(portFile(dataDir), 'utf8'))
    return Number.isInteger(port) && port > 1023 && port < 65_536 ? port : null
  } catch {
    return null
  }
}

async function isFree(port: number): Promise<boolean> {
  return bind(port).then(
    () => true,
    () => false,
  )
}

function bind(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port))
    })
  })
}
