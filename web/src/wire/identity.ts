// The key of this browser, by which it can be paired. It never leaves the browser: nothing can read it, not even this page.

import type { Challenge } from "./frames";

const DATABASE = "roost";
const STORE = "keys";
const NAME = "device";

export interface Proof {
  id: string;
  publicKey: string;
  signature: string;
  signedAt: number;
  nonce: string;
}

/** Only pages that came over TLS or from this machine have one. */
export const canPair = (): boolean => window.isSecureContext && "subtle" in crypto && "indexedDB" in window;

export class Identity {
  private constructor(
    private readonly keys: CryptoKeyPair,
    readonly id: string,
    private readonly publicKey: string,
  ) {}

  static async load(): Promise<Identity> {
    const keys = (await kept()) ?? (await made());
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", keys.publicKey));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
    const id = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return new Identity(keys, id, base64url(raw));
  }

  /** Signs the handshake: who connects as what, with which secret, in answer to which challenge. */
  async prove(challenge: Challenge, said: { client: string; mode: string; role: string; scopes: string[]; secret: string; platform: string }): Promise<Proof> {
    const { nonce, ts } = challenge;
    const parts = ["v3", this.id, said.client, said.mode, said.role, said.scopes.join(","), ts, said.secret, nonce, said.platform, ""];
    const signature = await crypto.subtle.sign("Ed25519", this.keys.privateKey, new TextEncoder().encode(parts.join("|")));
    return { id: this.id, publicKey: this.publicKey, signature: base64url(new Uint8Array(signature)), signedAt: ts, nonce };
  }
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function made(): Promise<CryptoKeyPair> {
  const keys = (await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair;
  await within("readwrite", (store) => store.put(keys, NAME));
  return keys;
}

async function kept(): Promise<CryptoKeyPair | undefined> {
  return (await within("readonly", (store) => store.get(NAME))) as CryptoKeyPair | undefined;
}

function within<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const request = act(opening.result.transaction(STORE, mode).objectStore(STORE));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    };
  });
}
