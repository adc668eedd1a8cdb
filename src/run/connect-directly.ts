import { setGlobalProxyFromEnv } from 'node:http'

/**
 * Makes `fetch` and `node:http` ignore NODE_USE_ENV_PROXY and HTTP_PROXY. A proxy would see the operator's key in
 * clear text, and cannot reach the loopback of this machine. MUST be called before the process's first request.
 */
export function connectDirectly(): void {
  // Without an address Node keeps the proxies of the environment. This address is never used.
  setGlobalProxyFromEnv({
    http_proxy: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    no_proxy: '*',
  })
}
