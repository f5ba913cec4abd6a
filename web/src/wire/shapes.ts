// Rows as the gateway sends them; only what is shown.

export interface SessionRow {
  key: string;
  sessionId: string;
  agentId?: string;
  kind: string;
  classification?: string;
  channel?: string;
  isMain?: boolean;
  label?: string;
  displayName?: string;
  derivedTitle?: string;
  lastMessagePreview?: string;
  status?: "running" | "queued" | "done" | "failed" | "killed" | "timeout";
  hasActiveRun: boolean;
  archived: boolean;
  pinned: boolean;
  createdAt: number;
  updatedAt: number;
  lastInteractionAt?: number;
  model?: string;
  modelProvider?: string;
  thinkingLevel?: string;
  contextTokens?: number;
  totalTokens: number;
  inputTokens: number;
  outputTokens: number;
  estimatedCostUsd: number;
  parentSessionKey?: string;
  spawnDepth?: number;
}

export interface TreeRow extends SessionRow {
  children: TreeRow[];
}

export interface Block {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
}

export interface Meta {
  id: string;
  seq: number;
  runId?: string;
  kind?: "reset" | "branch" | "compaction";
  reason?: string;
  rule?: string | null;
  /** How large the context was when it was condensed. */
  tokensBefore?: number;
  /** Why another model went on here. */
  modelReason?: string;
}

export interface MessageRow {
  role: "user" | "assistant" | "toolResult" | "system";
  content: string | Block[];
  timestamp?: number;
  model?: string;
  provider?: string;
  idempotencyKey?: string;
  toolCallId?: string;
  toolName?: string;
  isError?: boolean;
  stopReason?: string;
  errorMessage?: string;
  usage?: { input: number; output: number; totalTokens: number; cost?: { total?: number } };
  provenance?: { kind?: string; sourceSessionKey?: string };
  __openclaw: Meta;
}

export interface Defaults {
  model: string | null;
  modelProvider: string | null;
  contextTokens: number | null;
  thinkingOptions?: string[];
}

export interface History {
  sessionKey: string;
  sessionId?: string;
  messages: MessageRow[];
  defaults: Defaults;
  sessionInfo?: SessionRow;
  inFlightRun?: { runId: string; text: string; startedAt: number };
  pendingInputs?: { items: { id: string; runId?: string; message: MessageRow }[] };
}

export interface ChatEvent {
  sessionKey: string;
  runId: string;
  state: "status" | "delta" | "final" | "aborted" | "error";
  message?: { content: { type: string; text?: string }[] };
  stopReason?: string;
  errorMessage?: string;
}

export interface AgentEvent {
  sessionKey: string;
  runId: string;
  stream: string;
  data: Record<string, unknown>;
}

export interface ModelRow {
  id: string;
  name: string;
  provider: string;
  contextWindow?: number;
  reasoning: boolean;
}

export interface CommandRow {
  name: string;
  textAliases: string[];
  description: string;
  category: string;
  acceptsArgs: boolean;
}

export interface AgentRow {
  id: string;
  name?: string;
  model: { primary: string };
}

export interface Hit {
  key: string;
  sessionId: string;
  messageId: string;
  role: string;
  timestamp: number;
  snippet: string;
}

export const wordsOf = (row: { content: string | Block[] }): string =>
  typeof row.content === "string"
    ? row.content
    : row.content.filter((block) => block.type === "text").map((block) => block.text ?? "").join("\n\n");

export const titleOf = (row: SessionRow): string => row.label ?? row.derivedTitle ?? row.displayName ?? row.key;
