/*
 * The submit protocol: how a filing is sent to a service without an idempotency key, never twice and never lost.
 * docs/protocol.md tells it in words; `npm run model` checks it. One atomic block is one arrow of the protocol: a
 * transaction of the ledger, one file operation, one write to the network, or one step of a workflow's history.
 *
 * A crash is an actor that takes no further step, a freeze one that takes it late: both come with interleaving.
 * A transaction that is frozen with its locks held is one that happens at its commit; one that aborts does not happen;
 * one whose commit is not acknowledged happens, and its actor goes on as if it had not.
 */

/* ---- Names ---------------------------------------------------------------------------------------------------- */

#define FILINGS 2                     /* filing 0 and another filing (1) of the same mapping */
#define ATTEMPTS 4                    /* attempts 0 and 1 are filing 0's, 2 and 3 filing 1's */
#define OF(a) ((a) / 2)               /* the filing of an attempt */
#define FIRST(f) ((f) * 2)
#define SISTER(a) ((a) ^ 1)           /* the other attempt of the same submission */

/* filings.state; the names of src/domain/filing-states.ts */
#define F_NONE 0
#define F_CHECKING 1
#define F_SUBMITTING 2
#define F_PROCESSING 3
#define F_UNKNOWN 4
#define F_COLLECTING 5
#define F_CERTIFIED 6
#define F_REJECTED 7
#define F_NEEDS_CORRECTION 8
#define F_ABANDONED 9
#define ENDED(f) (fst[f] >= F_CERTIFIED)

/* filing_rows.state: one row stands for all rows of the submission */
#define R_NONE 0
#define R_PLANNED 1
#define R_SUBMITTED 2                 /* submitted or unknown */
#define R_CERTIFIED 3
#define R_ABANDONED 4                 /* abandoned after the send: stays live */
#define R_FREED 5
#define LIVE(f) (row[f] >= R_PLANNED && row[f] <= R_ABANDONED)

/* attempts.state */
#define A_NONE 0
#define A_OPEN 1
#define A_SENDING 2
#define A_ACCEPTED 3
#define A_REFUSED 4
#define A_NOT_SENT 5
#define A_ERRORED 6                   /* accepted, and the authority processed it as Errored */
#define UNDER_WAY(a) (att[a] == A_OPEN || att[a] == A_SENDING || att[a] == A_ACCEPTED)
#define LATEST(f) (att[FIRST(f) + 1] != A_NONE -> FIRST(f) + 1 : FIRST(f))

/* an execution of the submit activity */
#define X_FREE 0
#define X_CONNECTED 1
#define X_MARKED 2
#define X_COUNTED 3                   /* its file exists */
#define X_LISTED 4
#define X_READY 5
#define X_SENT 6
#define X_ANSWERED 7                  /* holds the answer, has not stored it yet */
#define X_NOTHING_WRITTEN 8           /* knows that it wrote nothing */
#define X_DONE_ANSWER 9               /* the activity returned the answer */
#define X_DONE 10                     /* the activity returned or failed without an answer */

/* its request */
#define N_NONE 0
#define N_TRAVELLING 1
#define N_TAKEN 2                     /* taken, will become a certificate */
#define N_TAKEN_BAD 3                 /* taken, will be Errored */
#define N_REFUSED 4
#define N_LOST 5                      /* never reached the service, or was not taken */
#define N_CERTIFIED 6                 /* the certificate can be seen */
#define N_ERRORED 7                   /* the status says Errored */
#define FILED(e) (net[e] == N_TAKEN || net[e] == N_CERTIFIED)

/* a workflow run of a filing */
#define W_NONE 0
#define W_OPEN_FILING 1
#define W_OPEN_ATTEMPT 2
#define W_DISPATCH 3
#define W_SUBMITTING 4                /* the submit activity is under way */
#define W_READ_ATTEMPT 5
#define W_UNKNOWN 6                   /* outcome unknown: a person is asked, evidence gathered */
#define W_FOLLOW 7
#define W_CLOSED 8                    /* the run ended with the filing's outcome */
#define W_GONE 9                      /* terminated */

#define VOID (NE + 1)                 /* a file that says: this number was never sent */

#define LASTA(f) (f == 0 -> ATTEMPTS0 - 1 : 1 + ATTEMPTS1)

/* ---- State ---------------------------------------------------------------------------------------------------- */

/* The ledger. */
byte fst[FILINGS];
byte row[FILINGS];
byte att[ATTEMPTS];
byte snd[ATTEMPTS];                   /* the mark's sender: execution + 1, 0 none known */
bit armed[ATTEMPTS];                  /* the mark still counts for its sender */
byte sends[NE + 1];                   /* sends[n]: who took number n (execution + 1), 0 nobody */
#if RESTORES > 0
byte oFst[FILINGS]; byte oRow[FILINGS]; byte oAtt[ATTEMPTS]; byte oSnd[ATTEMPTS]; bit oArmed[ATTEMPTS]; byte oSends[NE + 1];
#endif
#ifdef RESTORE_BOTH
byte oFile[NE + 1];
bit hold;                             /* new filings wait until the certificates were read */
#endif

/* Outside the ledger: sent/<ledgerId>/<n>. 0 missing, execution + 1, or VOID. */
byte file[NE + 1];

/* Executions and their requests. */
byte ex[NE];
byte xa[NE];                          /* the attempt */
byte xn[NE];                          /* the number that its mark took */
byte seen[NE];                        /* bit n: file n was in its listing */
bit late[NE];                         /* past the HTTP time-out + 30 s */
byte net[NE];

/* Runs. */
byte rp[FILINGS];
byte ra[FILINGS];
byte re[FILINGS];                     /* the execution that it waits for, + 1 */

/* Budgets of trouble, and what persons said wrongly. */
byte ops = OPS;
byte wrong;
byte copied;                        /* 0 none taken, 1 taken, 2 restored */

/* One step of a run that a stale worker repeats late. */
#define G_NONE 0
#define G_OPEN_ATTEMPT 1
#define G_READ_ATTEMPT 2
#define G_NOT_FILED 3
#define G_ABANDON 4
#define G_SETTLE 5
#define G_USED 6
byte ghost; byte ghostArg;

byte i, j;

/* ---- Predicates ------------------------------------------------------------------------------------------------ */

#if NE == 2
#define NUMBER (sends[2] != 0 -> 2 : (sends[1] != 0 -> 1 : 0))
#define ALL(P) (P(1) && P(2))
#define COUNTX(P) (P(0) + P(1))
#elif NE == 3
#define NUMBER (sends[3] != 0 -> 3 : (sends[2] != 0 -> 2 : (sends[1] != 0 -> 1 : 0)))
#define ALL(P) (P(1) && P(2) && P(3))
#define COUNTX(P) (P(0) + P(1) + P(2))
#else
#define NUMBER (sends[4] != 0 -> 4 : (sends[3] != 0 -> 3 : (sends[2] != 0 -> 2 : (sends[1] != 0 -> 1 : 0))))
#define ALL(P) (P(1) && P(2) && P(3) && P(4))
#define COUNTX(P) (P(0) + P(1) + P(2) + P(3))
#endif

/* Whether the ledger holds what the files say. */
#ifdef BY_NUMBER_ONLY
#define HELD(n) (file[n] == 0 || n <= NUMBER)
#define HELD_SEEN(n) (((seen[e] >> n) & 1) == 0 || n <= NUMBER)
#else
#define HELD(n) (file[n] == 0 || file[n] == VOID || file[n] == sends[n])
#define HELD_SEEN(n) (((seen[e] >> n) & 1) == 0 || file[n] == VOID || file[n] == sends[n])
#endif
#define TRULY_HELD(n) (file[n] == 0 || file[n] == VOID || file[n] == sends[n])
#define GONE_BACK (!(ALL(TRULY_HELD)))
#ifdef NO_LISTING
#define WHOLE true
#else
#define WHOLE (ALL(HELD))
#endif

#define CERT(e) (FILED(e) -> 1 : 0)
#define CERTIFICATES (COUNTX(CERT))

/* FILING_TRANSITIONS of src/domain/filing-states.ts, for the states that the model has */
#define MAY_FOLLOW(s, t) ( \
  (s == F_CHECKING && (t == F_SUBMITTING || t == F_NEEDS_CORRECTION || t == F_ABANDONED)) || \
  (s == F_SUBMITTING && (t == F_PROCESSING || t == F_COLLECTING || t == F_UNKNOWN || t == F_NEEDS_CORRECTION || t == F_REJECTED || t == F_ABANDONED)) || \
  (s == F_PROCESSING && (t == F_COLLECTING || t == F_SUBMITTING || t == F_UNKNOWN || t == F_REJECTED || t == F_NEEDS_CORRECTION || t == F_ABANDONED)) || \
  (s == F_UNKNOWN && (t == F_SUBMITTING || t == F_PROCESSING || t == F_COLLECTING || t == F_NEEDS_CORRECTION || t == F_REJECTED || t == F_ABANDONED)) || \
  (s == F_COLLECTING && (t == F_CERTIFIED || t == F_REJECTED || t == F_ABANDONED)))

inline move(f, t) {
  if
  :: fst[f] == t
  :: else -> assert(MAY_FOLLOW(fst[f], t)); fst[f] = t
  fi
}

/* In simulations: the state after each step, for traces. */
#ifdef TRACES
#if NE == 2
#define EACH_EXECUTION(v) v[0], v[1], 0, 0
#define EACH_NUMBER(v) v[1], v[2], 0, 0
#elif NE == 3
#define EACH_EXECUTION(v) v[0], v[1], v[2], 0
#define EACH_NUMBER(v) v[1], v[2], v[3], 0
#else
#define EACH_EXECUTION(v) v[0], v[1], v[2], v[3]
#define EACH_NUMBER(v) v[1], v[2], v[3], v[4]
#endif
#define SHOW printf("@= %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d", fst[0], fst[1], row[0], row[1], att[0], att[1], att[2], att[3], snd[0], snd[1], snd[2], snd[3], armed[0], armed[1], armed[2], armed[3]); \
  printf(" %d %d %d %d %d %d %d %d", EACH_NUMBER(sends), EACH_NUMBER(file)); \
  printf(" %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d", EACH_EXECUTION(ex), EACH_EXECUTION(xa), EACH_EXECUTION(xn), EACH_EXECUTION(net)); \
  printf(" %d %d %d %d %d\n", rp[0], rp[1], ra[0], ra[1], wrong)
#else
#define SHOW
#endif

/* ---- Guards; a -D switch removes one (a mutant) ---- */

#ifdef NO_VOID
#define VOID_MISSING true
#else
#define VOID_MISSING false
#endif

/*
 * Time. Nobody sees a clock tick but who concludes from it, so time passes when somebody needs it to: the one who judges
 * attempt a waits until its sender is past the HTTP time-out (tooLate), and a sender may find itself too late at any
 * time. The settle window is over when nothing of the attempt travels any more and its senders are too late.
 */
#define OF_ATTEMPT(e, a) (ex[e] != X_FREE && (xa[e] == (a) || att[a] == A_SENDING && snd[a] == 0 && OF(xa[e]) == OF(a)))
#define STILL_TRAVELLING(e, a) (OF_ATTEMPT(e, a) && net[e] == N_TRAVELLING)
#define MAY_WRITE(e, a) (OF_ATTEMPT(e, a) && xn[e] != 0 && ex[e] < X_SENT)
inline tooLate(a) {
  i = 0;
  do
  :: i < NE -> if :: MAY_WRITE(i, a) && (snd[a] == 0 || snd[a] == i + 1) -> late[i] = 1 :: else fi; i++
  :: else -> break
  od; i = 0
}

#define SEEN_OF(e, a) (OF_ATTEMPT(e, a) && net[e] == N_CERTIFIED)
#define FILED_OF(e, a) (OF_ATTEMPT(e, a) && FILED(e))
#define TAKEN_OF(e, a) (OF_ATTEMPT(e, a) && (FILED(e) || net[e] == N_TAKEN_BAD || net[e] == N_ERRORED))
#define ERRORED_OF(e, a) (ex[e] != X_FREE && xa[e] == (a) && net[e] == N_ERRORED)
#if NE == 2
#define ANY(P, a) (P(0, a) || P(1, a))
#elif NE == 3
#define ANY(P, a) (P(0, a) || P(1, a) || P(2, a))
#else
#define ANY(P, a) (P(0, a) || P(1, a) || P(2, a) || P(3, a))
#endif

#ifdef NO_COLLISION_CHECK
#define HOLDS(f) true
#else
#define HOLDS(f) (!LIVE(1 - (f)))           /* nobody else holds the rows' fingerprint (an import can make two) */
#endif
#ifdef NO_ROW_CHECK
#define ROWS_PLANNED(a) true
#else
#define ROWS_PLANNED(a) (row[OF(a)] == R_PLANNED && fst[OF(a)] == F_SUBMITTING && HOLDS(OF(a)))
#endif
#ifdef NO_SISTER_CHECK
#define NO_SISTER(a) true
#else
#define NO_SISTER(a) (!(UNDER_WAY(SISTER(a))))
#endif
#ifdef NO_FENCE
#define ATTEMPT_OPEN(a) true
#else
#define ATTEMPT_OPEN(a) (att[a] == A_OPEN)
#endif
#define MARK_ALLOWED(a) (ATTEMPT_OPEN(a) && ROWS_PLANNED(a) && NO_SISTER(a) && NUMBER < NE)
#ifdef FILES_OVERWRITTEN
#define OVERWRITES || true
#else
#define OVERWRITES
#endif
#ifdef NO_LISTING
#define LISTING_HELD true
#else
#define LISTING_HELD (ALL(HELD_SEEN))
#endif
#ifdef NO_OWN_MARK
#define OWN_MARK true
#else
#define OWN_MARK (att[xa[e]] == A_SENDING && snd[xa[e]] == e + 1 && armed[xa[e]])
#endif
#ifdef NO_CLOCK_CHECK
#define CLOCK_OK true
#else
#define CLOCK_OK (late[e] == 0)
#endif
#ifdef CLOSE_ANY_SENDER
#define OWN_SENDER true
#else
#define OWN_SENDER (snd[xa[e]] == e + 1)
#endif

#ifdef NO_LATE_WAIT
#define WAIT_LATE(a) skip
#else
#define WAIT_LATE(a) tooLate(a)
#endif
#ifdef NO_SETTLE_WINDOW
#define PERSON_WAITED(a) skip
#else
#define PERSON_WAITED(a) tooLate(a)
#endif
#ifdef NO_SETTLE_WINDOW
#define WINDOW_OVER(a) true
#else
#define WINDOW_OVER(a) (!(ANY(STILL_TRAVELLING, a)))
#endif
#ifdef NO_LAST_LOOK
#define LOOK(a) true
#else
#define LOOK(a) (!(ANY(SEEN_OF, a)))
#endif

/* ---- Transactions of the ledger -------------------------------------------------------------------------------- */

/* Whoever frees rows closes their open attempts in the same transaction. */
inline closeOpenAttempts(f) {
#ifndef FREE_KEEPS_ATTEMPTS
  if :: att[FIRST(f)] == A_OPEN -> att[FIRST(f)] = A_NOT_SENT :: else fi;
  if :: att[FIRST(f) + 1] == A_OPEN -> att[FIRST(f) + 1] = A_NOT_SENT :: else fi
#else
  skip
#endif
}

inline freeRows(f) { row[f] = R_FREED; closeOpenAttempts(f) }

/* The attempt turned out not to be sent: its rows are to be sent again. */
inline unsubmit(f) {
  if
  :: row[f] == R_SUBMITTED && att[FIRST(f)] != A_SENDING && att[FIRST(f) + 1] != A_SENDING &&
     att[FIRST(f)] != A_ACCEPTED && att[FIRST(f) + 1] != A_ACCEPTED -> row[f] = R_PLANNED
  :: else
  fi
}

/* An acceptance is a fact: recorded whatever the attempt's state. It closes an open sister. */
inline recordAcceptance(a) {
  att[a] = A_ACCEPTED;
#ifndef LATE_ANSWER_KEEPS_SISTER
  if :: att[SISTER(a)] == A_OPEN -> att[SISTER(a)] = A_NOT_SENT :: else fi;
#endif
  if
#ifdef ACCEPTANCE_KEEPS_PLANNED
  :: row[OF(a)] == R_NONE -> row[OF(a)] = R_SUBMITTED
#else
  :: row[OF(a)] == R_NONE || row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED
#endif
#ifndef ACCEPTANCE_LEAVES_ROWS_FREED
  :: row[OF(a)] == R_FREED -> row[OF(a)] = R_ABANDONED      /* they are at the service: live again */
#endif
  :: else
  fi;
  if
  :: fst[OF(a)] == F_NONE -> fst[OF(a)] = F_PROCESSING
  :: fst[OF(a)] == F_CHECKING -> move(OF(a), F_SUBMITTING); move(OF(a), F_PROCESSING)
  :: fst[OF(a)] == F_SUBMITTING || fst[OF(a)] == F_UNKNOWN -> move(OF(a), F_PROCESSING)
  :: else
  fi
}

/* A run opens attempt a (or finds that it exists). */
inline openAttempt(a) {
  if
  :: att[a] == A_NONE && (a == FIRST(OF(a)) || att[SISTER(a)] != A_NONE) && !(UNDER_WAY(SISTER(a))) &&
     row[OF(a)] == R_PLANNED && (fst[OF(a)] == F_CHECKING || fst[OF(a)] == F_SUBMITTING) ->
     if
     :: HOLDS(OF(a)) -> att[a] = A_OPEN; snd[a] = 0; move(OF(a), F_SUBMITTING)
     :: else -> freeRows(OF(a)); move(OF(a), F_NEEDS_CORRECTION)
     fi
  :: else
  fi
}

/* A run reads what became of attempt a, and closes it where it was never marked. */
inline readAttempt(a) {
  if
  :: ENDED(OF(a))
  :: else ->
     if
#ifdef UNCONDITIONAL_CLOSE
     :: att[a] == A_OPEN || att[a] == A_SENDING -> att[a] = A_NOT_SENT; unsubmit(OF(a))
#else
     :: att[a] == A_OPEN -> att[a] = A_NOT_SENT
#endif
     :: att[a] == A_NONE && fst[OF(a)] != F_NONE && (a == FIRST(OF(a)) || att[SISTER(a)] != A_NONE) && !(UNDER_WAY(SISTER(a))) ->
        /* an attempt that the ledger does not hold is unknown */
        att[a] = A_SENDING; snd[a] = 0;
        if :: row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED :: else fi;
        if :: fst[OF(a)] == F_CHECKING -> move(OF(a), F_SUBMITTING) :: else fi;
        move(OF(a), F_UNKNOWN)
     :: att[a] == A_SENDING && snd[a] != 0 && file[xn[snd[a] - 1]] != snd[a] &&
        (file[xn[snd[a] - 1]] != 0 || VOID_MISSING) ->
        att[a] = A_NOT_SENT; unsubmit(OF(a));
        if :: fst[OF(a)] == F_UNKNOWN && !(att[SISTER(a)] == A_SENDING) -> move(OF(a), F_SUBMITTING) :: else fi
     :: att[a] == A_SENDING && (snd[a] == 0 || file[xn[snd[a] - 1]] == snd[a]) && fst[OF(a)] != F_UNKNOWN -> WAIT_LATE(a); move(OF(a), F_UNKNOWN)
     :: att[a] == A_REFUSED && LATEST(OF(a)) == a && !(UNDER_WAY(SISTER(a))) ->
        freeRows(OF(a)); move(OF(a), F_NEEDS_CORRECTION)
     :: att[a] == A_NOT_SENT && att[SISTER(a)] == A_ERRORED && (row[OF(a)] == R_PLANNED || row[OF(a)] == R_SUBMITTED) ->
        freeRows(OF(a)); move(OF(a), F_REJECTED)
     :: att[a] == A_ACCEPTED && (fst[OF(a)] == F_SUBMITTING || fst[OF(a)] == F_UNKNOWN) -> move(OF(a), F_PROCESSING)
     :: else
     fi
  fi
}

/* A person says that attempt a was not filed. */
inline notFiled(a) {
#ifdef RESOLVE_UNNAMED
  j = LATEST(OF(a));
#else
  j = a;
#endif
  if
  :: att[j] == A_SENDING && fst[OF(a)] == F_UNKNOWN -> att[j] = A_NOT_SENT; unsubmit(OF(a));
     if :: att[SISTER(j)] != A_SENDING -> move(OF(a), F_SUBMITTING) :: else fi
#ifdef RESOLVE_UNCONDITIONAL
  :: att[j] != A_SENDING && att[j] != A_NONE && att[j] != A_ACCEPTED -> att[j] = A_NOT_SENT;
     if :: row[OF(a)] == R_SUBMITTED -> row[OF(a)] = R_PLANNED :: else fi
#endif
  :: else
  fi
}

/* A person abandons the filing. What was sent stays live. */
inline abandonFiling(f) {
  if
  :: fst[f] == F_NONE || ENDED(f)
  :: else ->
     if
     :: row[f] == R_PLANNED -> freeRows(f)
     :: row[f] == R_SUBMITTED -> row[f] = R_ABANDONED; closeOpenAttempts(f)
     :: else
     fi;
     move(f, F_ABANDONED)
  fi
}

/* The authority has processed the request of attempt a. */
inline settle(a) {
  if
  :: ENDED(OF(a))
  :: else ->
     if
     :: ANY(SEEN_OF, a) ->
        recordAcceptance(a); row[OF(a)] = R_CERTIFIED; move(OF(a), F_COLLECTING); move(OF(a), F_CERTIFIED)
     :: att[a] == A_ACCEPTED && ANY(ERRORED_OF, a) ->
        att[a] = A_ERRORED;
        if
#ifndef ERRORED_FREES_ALL
        :: att[SISTER(a)] == A_ACCEPTED                                /* goes on with the sister */
        :: att[SISTER(a)] == A_SENDING -> move(OF(a), F_UNKNOWN)
        :: else
#else
        :: true
#endif
           -> freeRows(OF(a)); move(OF(a), F_REJECTED)
        fi
     :: else
     fi
  fi
}

/* ---- Restoring the ledger -------------------------------------------------------------------------------------- */

#if RESTORES > 0
inline copyLedger() {
    for (i : 0 .. FILINGS - 1) { oFst[i] = fst[i]; oRow[i] = row[i] }
    for (i : 0 .. ATTEMPTS - 1) { oAtt[i] = att[i]; oSnd[i] = snd[i]; oArmed[i] = armed[i] }
    for (i : 1 .. NE) { oSends[i] = sends[i] }
#ifdef RESTORE_BOTH
    for (i : 1 .. NE) { oFile[i] = file[i] }
#endif
    i = 0
}

inline putBack() {
    for (i : 0 .. FILINGS - 1) { fst[i] = oFst[i]; row[i] = oRow[i]; oFst[i] = 0; oRow[i] = 0 }
    for (i : 0 .. ATTEMPTS - 1) { att[i] = oAtt[i]; snd[i] = oSnd[i]; oAtt[i] = 0; oSnd[i] = 0; armed[i] = oArmed[i]; oArmed[i] = 0 }
    for (i : 1 .. NE) { sends[i] = oSends[i]; oSends[i] = 0 }
#ifdef RESTORE_BOTH
    for (i : 1 .. NE) { file[i] = oFile[i]; oFile[i] = 0 }
    for (i : 0 .. NE - 1) { if :: ex[i] != X_FREE -> ex[i] = X_DONE; seen[i] = 0; late[i] = 0 :: else fi }   /* workers were stopped */
#endif
    i = 0
}
#endif

/* `ebrc ledger restored`, or the worker after a failover: what the files know and the ledger does not. */
inline importFiles() {
  i = 1;
  do
  :: i <= NE ->
     if
     :: file[i] != 0 && file[i] != VOID && file[i] != sends[i] ->
        if
        :: sends[i] != 0 && sends[i] != VOID && snd[xa[sends[i] - 1]] == sends[i] && att[xa[sends[i] - 1]] == A_SENDING ->
           /* its number is another's: it can never create its file */
           j = xa[sends[i] - 1]; att[j] = A_NOT_SENT; unsubmit(OF(j))
        :: else
        fi;
        sends[i] = file[i];
        j = xa[file[i] - 1];
        if
        :: att[j] == A_SENDING && snd[j] != 0 && file[xn[snd[j] - 1]] == snd[j] -> snd[j] = 0   /* more than one may have sent it */
        :: att[j] == A_SENDING && snd[j] == 0
        :: att[j] != A_ACCEPTED && att[j] != A_REFUSED && att[j] != A_ERRORED && att[j] != A_SENDING -> att[j] = A_SENDING; snd[j] = file[i]
        :: att[j] == A_SENDING && snd[j] != 0 && file[xn[snd[j] - 1]] != snd[j] -> snd[j] = file[i]
        :: else
        fi;
        if :: att[SISTER(j)] == A_OPEN -> att[SISTER(j)] = A_NOT_SENT :: else fi;
        if
        :: ENDED(OF(j)) && row[OF(j)] == R_FREED && att[j] == A_SENDING -> row[OF(j)] = R_ABANDONED
        :: !ENDED(OF(j)) && att[j] == A_SENDING ->
           row[OF(j)] = R_SUBMITTED;
           if :: fst[OF(j)] == F_NONE -> fst[OF(j)] = F_SUBMITTING :: fst[OF(j)] == F_CHECKING -> move(OF(j), F_SUBMITTING) :: else fi;
           move(OF(j), F_UNKNOWN)
        :: else
        fi
     :: else
     fi;
     i++
  :: else -> break
  od;
#ifndef IMPORT_KEEPS_MARKS
  i = 0; do :: i < ATTEMPTS -> armed[i] = 0; i++ :: else -> break od;
#endif
#ifndef IMPORT_LEAVES_GAPS
  i = 1;
  do
  :: i <= NUMBER -> if :: file[i] == 0 -> file[i] = VOID :: else fi; i++
  :: else -> break
  od;
#endif
  i = 0; j = 0
}

#ifdef RESTORE_BOTH
/* `ebrc ledger restored --documents restored`: what was open or planned may have been sent since the copy. */
inline documentsRestored() {
#ifndef NO_DOCUMENTS_RESTORED
  hold = 1;
  i = 0;
  do
  :: i < FILINGS ->
     if
     :: !ENDED(i) && row[i] == R_PLANNED ->
        j = LATEST(i);
        if :: att[j] == A_NOT_SENT && j < LASTA(i) -> j = j + 1 :: else fi;
        att[j] = A_SENDING; snd[j] = 0; row[i] = R_SUBMITTED;
        if :: fst[i] == F_CHECKING -> move(i, F_SUBMITTING) :: else fi;
        move(i, F_UNKNOWN)
     :: else
     fi; i++
  :: else -> break
  od;
  /* a mark whose file is missing proves nothing: the file may be younger than the copy */
  i = 0;
  do
  :: i < ATTEMPTS -> if :: att[i] == A_SENDING -> snd[i] = 0; armed[i] = 0 :: else fi; i++
  :: else -> break
  od;
  i = 0; j = 0
#else
  skip
#endif
}
#define UNREAD(e) (net[e] == N_TRAVELLING || net[e] == N_TAKEN || net[e] == N_TAKEN_BAD -> 1 : 0)
#define NOT_OURS(e) (net[e] == N_CERTIFIED && row[OF(xa[e])] != R_CERTIFIED -> 1 : 0)
#define MAY_OPEN (!hold || COUNTX(UNREAD) == 0)
#define AUTHORITY_HAS_IT (hold && COUNTX(NOT_OURS) > 0)
#else
#define MAY_OPEN true
#define AUTHORITY_HAS_IT false
#endif

/* ---- Actors ----------------------------------------------------------------------------------------------------- */

inline remember(kind, arg) {
#if GHOSTS > 0
  if
  :: ghost == G_NONE -> ghost = kind; ghostArg = arg; printf("@ ghost | %d %d is under way twice\n", kind, arg)
  :: true
  fi
#else
  skip
#endif
}

#define SENT_STATE(a) (att[a] == A_SENDING || att[a] == A_ACCEPTED)
#define MAY_BE_SENT(f) (SENT_STATE(FIRST(f)) || SENT_STATE(FIRST(f) + 1))

proctype Run(byte f) {
end:
  do
  :: atomic { rp[f] == W_OPEN_FILING && (fst[f] != F_NONE || MAY_OPEN) ->
       if
#ifdef NO_UNIQUE_INDEX
       :: fst[f] == F_NONE -> fst[f] = F_CHECKING; row[f] = R_PLANNED; rp[f] = W_OPEN_ATTEMPT; ra[f] = FIRST(f)
#else
       :: fst[f] == F_NONE && !LIVE(1 - f) && !AUTHORITY_HAS_IT -> fst[f] = F_CHECKING; row[f] = R_PLANNED; rp[f] = W_OPEN_ATTEMPT; ra[f] = FIRST(f)
       :: fst[f] == F_NONE && (LIVE(1 - f) || AUTHORITY_HAS_IT) -> rp[f] = W_CLOSED
#endif
       :: fst[f] != F_NONE && !ENDED(f) -> rp[f] = W_OPEN_ATTEMPT; ra[f] = FIRST(f)
       :: ENDED(f) -> rp[f] = W_CLOSED
       fi;
       printf("@ run %d | open filing: state %d row %d\n", f, fst[f], row[f]); SHOW }
  :: atomic { rp[f] == W_OPEN_ATTEMPT ->
       openAttempt(ra[f]);
       remember(G_OPEN_ATTEMPT, ra[f]);
       if
       :: ENDED(f) -> rp[f] = W_CLOSED
       :: fst[f] == F_NONE -> rp[f] = W_OPEN_FILING
       :: !ENDED(f) && fst[f] != F_NONE && att[ra[f]] == A_OPEN -> rp[f] = W_DISPATCH
       :: !ENDED(f) && fst[f] != F_NONE && att[ra[f]] != A_OPEN -> rp[f] = W_READ_ATTEMPT
       fi;
       printf("@ run %d | open attempt %d: %d\n", f, ra[f], att[ra[f]]); SHOW }
  :: atomic { rp[f] == W_DISPATCH && ex[NE - 1] == X_FREE ->
       i = 0; do :: ex[i] != X_FREE -> i++ :: else -> break od;
       ex[i] = X_CONNECTED; xa[i] = ra[f]; re[f] = i + 1; rp[f] = W_SUBMITTING;
       printf("@ run %d | schedule submit of attempt %d as execution %d\n", f, ra[f], i); i = 0; SHOW }
  :: atomic { rp[f] == W_SUBMITTING && ex[re[f] - 1] == X_DONE_ANSWER && net[re[f] - 1] != N_REFUSED ->
       /* the answer came back as the activity's result too */
       if :: !ENDED(f) -> recordAcceptance(ra[f]) :: else fi;
       rp[f] = W_FOLLOW; re[f] = 0;
       printf("@ run %d | submit returned an acceptance of attempt %d\n", f, ra[f]); SHOW }
  :: atomic { rp[f] == W_SUBMITTING ->        /* returned without an acceptance, timed out or lost its heartbeat */
       rp[f] = W_READ_ATTEMPT; re[f] = 0;
       printf("@ run %d | submit is over or given up on\n", f); SHOW }
#ifndef NO_VOID
  :: atomic { rp[f] == W_READ_ATTEMPT && WHOLE && att[ra[f]] == A_SENDING && snd[ra[f]] != 0 && file[xn[snd[ra[f]] - 1]] == 0 ->
       file[xn[snd[ra[f]] - 1]] = VOID;
       printf("@ run %d | void file %d for attempt %d\n", f, xn[snd[ra[f]] - 1], ra[f]); SHOW }
#endif
  :: atomic { rp[f] == W_READ_ATTEMPT && WHOLE &&
       !(!ENDED(f) && att[ra[f]] == A_SENDING && snd[ra[f]] != 0 && file[xn[snd[ra[f]] - 1]] == 0 && !VOID_MISSING) ->
       readAttempt(ra[f]);
       printf("@ run %d | read attempt %d: %d, filing %d, row %d\n", f, ra[f], att[ra[f]], fst[f], row[f]);
       remember(G_READ_ATTEMPT, ra[f]);
       if
       :: ENDED(f) -> rp[f] = W_CLOSED
       :: fst[f] == F_NONE -> rp[f] = W_OPEN_FILING
       :: else ->
          if
          :: att[FIRST(f)] == A_ACCEPTED -> ra[f] = FIRST(f); rp[f] = W_FOLLOW
          :: att[FIRST(f) + 1] == A_ACCEPTED && att[FIRST(f)] != A_ACCEPTED -> ra[f] = FIRST(f) + 1; rp[f] = W_FOLLOW
          :: att[FIRST(f)] != A_ACCEPTED && att[FIRST(f) + 1] != A_ACCEPTED ->
             if
             :: att[ra[f]] == A_SENDING -> rp[f] = W_UNKNOWN
             :: att[ra[f]] != A_SENDING && att[SISTER(ra[f])] == A_SENDING -> ra[f] = SISTER(ra[f])
             :: att[ra[f]] != A_SENDING && att[SISTER(ra[f])] != A_SENDING ->
                if
                :: ra[f] == LATEST(f) && ra[f] == FIRST(f) && LASTA(f) > FIRST(f) && att[ra[f]] == A_NOT_SENT -> ra[f] = ra[f] + 1; rp[f] = W_OPEN_ATTEMPT
                :: ra[f] == LATEST(f) && ra[f] == FIRST(f) && LASTA(f) > FIRST(f) && att[ra[f]] == A_NONE -> rp[f] = W_OPEN_ATTEMPT
                :: ra[f] == LATEST(f) && ra[f] == LASTA(f) -> rp[f] = W_CLOSED /* out of attempts: the model's bound */
                :: ra[f] != LATEST(f) -> ra[f] = LATEST(f)
                fi
             fi
          fi
       fi; SHOW }
  :: atomic { rp[f] == W_UNKNOWN && (att[ra[f]] != A_SENDING || fst[f] != F_UNKNOWN) ->
       rp[f] = W_READ_ATTEMPT; printf("@ run %d | the unknown outcome of attempt %d has been settled\n", f, ra[f]); SHOW }
  :: atomic { (rp[f] == W_UNKNOWN || rp[f] == W_FOLLOW) && WHOLE && (ANY(SEEN_OF, ra[f]) || rp[f] == W_FOLLOW && ANY(ERRORED_OF, ra[f])) ->
       settle(ra[f]); remember(G_SETTLE, ra[f]);
       if :: ENDED(f) -> rp[f] = W_CLOSED :: else -> rp[f] = W_READ_ATTEMPT fi;
       printf("@ run %d | settle attempt %d: filing %d row %d\n", f, ra[f], fst[f], row[f]); SHOW }
  :: atomic { rp[f] == W_FOLLOW && ENDED(f) -> rp[f] = W_CLOSED; SHOW }
  :: atomic { rp[f] == W_GONE && !ENDED(f) && MAY_BE_SENT(f) ->
       ra[f] = LATEST(f); rp[f] = W_READ_ATTEMPT; printf("@ sweep | a new run follows filing %d\n", f); SHOW }
  od
}

proctype Execution(byte e) {
end:
  do
  :: atomic { ex[e] == X_CONNECTED ->
       if
       :: MARK_ALLOWED(xa[e]) ->
          assert(att[xa[e]] != A_NOT_SENT);                                              /* not sent: never written later */
          assert(att[SISTER(xa[e])] != A_SENDING && att[SISTER(xa[e])] != A_ACCEPTED);   /* one at a time */
          att[xa[e]] = A_SENDING; snd[xa[e]] = e + 1; armed[xa[e]] = 1; row[OF(xa[e])] = R_SUBMITTED;
          i = NUMBER + 1; sends[i] = e + 1; xn[e] = i;
          if
          :: ex[e] = X_MARKED; printf("@ exec %d | mark attempt %d as sending, number %d\n", e, xa[e], xn[e])
          :: ex[e] = X_NOTHING_WRITTEN; printf("@ exec %d | mark attempt %d as sending, number %d; the commit is not acknowledged\n", e, xa[e], xn[e])
          fi; i = 0
       :: ex[e] = X_NOTHING_WRITTEN; printf("@ exec %d | mark of attempt %d refused or aborted\n", e, xa[e])
       fi; SHOW }
#ifdef CRASHES
  :: atomic { ex[e] != X_FREE && ex[e] < X_DONE_ANSWER -> ex[e] = X_DONE; seen[e] = 0; late[e] = 0; printf("@ exec %d | the worker dies\n", e); SHOW }
#endif
  :: atomic { ex[e] == X_MARKED ->
       if
       :: file[xn[e]] == 0 OVERWRITES -> file[xn[e]] = e + 1; ex[e] = X_COUNTED; printf("@ exec %d | create file %d\n", e, xn[e])
       :: else -> ex[e] = X_NOTHING_WRITTEN; printf("@ exec %d | file %d exists\n", e, xn[e])
       fi; SHOW }
  :: atomic { ex[e] == X_COUNTED ->
       i = 1; do :: i <= NE -> if :: file[i] != 0 -> seen[e] = seen[e] | (1 << i) :: else fi; i++ :: else -> break od; i = 0;
       ex[e] = X_LISTED; printf("@ exec %d | list the files\n", e); SHOW }
  :: atomic { ex[e] == X_LISTED ->
       if
       :: LISTING_HELD && OWN_MARK -> ex[e] = X_READY; printf("@ exec %d | the ledger holds the listing and the mark\n", e)
       :: else -> ex[e] = X_NOTHING_WRITTEN; printf("@ exec %d | the ledger has gone back\n", e)
       fi; seen[e] = 0; SHOW }
  :: atomic { ex[e] == X_READY ->
       if
       :: CLOCK_OK ->
          ex[e] = X_SENT; late[e] = 0; net[e] = N_TRAVELLING;
          printf("@ exec %d | write the request of attempt %d\n", e, xa[e]);
          assert(att[xa[e]] != A_NOT_SENT || GONE_BACK)
       :: ex[e] = X_NOTHING_WRITTEN; printf("@ exec %d | too late: nothing written\n", e)
       fi; SHOW }
  :: atomic { ex[e] == X_SENT ->
       if
       :: net[e] >= N_TAKEN && net[e] <= N_REFUSED || net[e] >= N_CERTIFIED -> ex[e] = X_ANSWERED; printf("@ exec %d | answer received\n", e)
       :: net[e] == N_REFUSED -> ex[e] = X_NOTHING_WRITTEN; printf("@ exec %d | turned away (429)\n", e)
       :: true -> ex[e] = X_DONE; printf("@ exec %d | no answer, or a 5xx\n", e)
       fi; SHOW }
  :: atomic { ex[e] == X_ANSWERED ->
       if
       :: net[e] != N_REFUSED -> recordAcceptance(xa[e]); printf("@ exec %d | store the acceptance of attempt %d\n", e, xa[e]); ex[e] = X_DONE_ANSWER
       :: net[e] == N_REFUSED && att[xa[e]] == A_SENDING && snd[xa[e]] == e + 1 -> att[xa[e]] = A_REFUSED; printf("@ exec %d | store the refusal of attempt %d\n", e, xa[e]); ex[e] = X_DONE
       :: net[e] == N_REFUSED && !(att[xa[e]] == A_SENDING && snd[xa[e]] == e + 1) -> ex[e] = X_DONE
       :: net[e] != N_REFUSED -> ex[e] = X_DONE_ANSWER; printf("@ exec %d | return the answer; it could not be stored\n", e)
       fi; SHOW }
  :: atomic { ex[e] == X_NOTHING_WRITTEN ->
       if
       :: att[xa[e]] == A_OPEN || att[xa[e]] == A_SENDING && OWN_SENDER -> att[xa[e]] = A_NOT_SENT; unsubmit(OF(xa[e]));
          if :: fst[OF(xa[e])] == F_UNKNOWN && att[SISTER(xa[e])] != A_SENDING -> move(OF(xa[e]), F_SUBMITTING) :: else fi;
          printf("@ exec %d | close own attempt %d as not sent\n", e, xa[e])
       :: else -> printf("@ exec %d | attempt %d is not its to close\n", e, xa[e])
       fi;
       ex[e] = X_DONE; SHOW }
  od
}

/* The service, the authority behind it, and time. */
#define WORLD(e) \
  :: atomic { net[e] == N_TRAVELLING -> net[e] = N_TAKEN; printf("@ service | take request %d\n", e); SHOW } \
  :: atomic { net[e] == N_TRAVELLING -> net[e] = N_TAKEN_BAD; printf("@ service | take request %d, which will be Errored\n", e); SHOW } \
  :: atomic { net[e] == N_TRAVELLING -> net[e] = N_REFUSED; printf("@ service | refuse request %d\n", e); SHOW } \
  :: atomic { net[e] == N_TRAVELLING -> net[e] = N_LOST; printf("@ service | request %d is lost\n", e); SHOW } \
  :: atomic { net[e] == N_TAKEN -> net[e] = N_CERTIFIED; printf("@ authority | certificate of request %d\n", e); SHOW } \
  :: atomic { net[e] == N_TAKEN_BAD -> net[e] = N_ERRORED; printf("@ authority | request %d is Errored\n", e); SHOW }

proctype World() {
end:
  do
  WORLD(0)
  WORLD(1)
#if NE > 2
  WORLD(2)
#endif
#if NE > 3
  WORLD(3)
#endif
  od
}

proctype Operator() {
  byte f; byte a;
end:
  do
  :: atomic { ops > 0 && !(ENDED(0) && ENDED(1)) ->
       if :: f = 0 :: f = 1 fi;
       if
       :: rp[f] > W_NONE && rp[f] < W_CLOSED -> rp[f] = W_GONE; re[f] = 0; printf("@ operator | terminate run %d\n", f)
       :: rp[f] > W_OPEN_FILING ->
          re[f] = 0;
          if :: ra[f] > FIRST(f) -> ra[f] = FIRST(f) :: true fi;
          if :: rp[f] = W_OPEN_FILING :: rp[f] = W_OPEN_ATTEMPT :: rp[f] = W_DISPATCH :: rp[f] = W_READ_ATTEMPT fi;
          printf("@ operator | reset run %d to step %d of attempt %d\n", f, rp[f], ra[f])
       :: rp[f] == W_GONE || rp[f] == W_CLOSED && !ENDED(f) ->
          re[f] = 0; ra[f] = LATEST(f);
          if
          :: fst[f] == F_NONE -> rp[f] = W_OPEN_FILING
          :: fst[f] != F_NONE && att[ra[f]] == A_NONE -> rp[f] = W_OPEN_ATTEMPT
          :: fst[f] != F_NONE && att[ra[f]] != A_NONE -> rp[f] = W_READ_ATTEMPT
          fi;
          printf("@ operator | resume filing %d\n", f)
       :: WHOLE && fst[f] != F_NONE && !ENDED(f) ->
          abandonFiling(f); remember(G_ABANDON, f); printf("@ operator | abandon filing %d: row %d\n", f, row[f])
       :: WHOLE ->
          if :: a = FIRST(f) :: a = FIRST(f) + 1 fi;
          if
          :: att[a] == A_SENDING && fst[f] == F_UNKNOWN && WINDOW_OVER(a) && LOOK(a) ->
             /* a wrong word is one that the service does not contradict when it is said */
             if :: ANY(FILED_OF, a) && !(ANY(SEEN_OF, a)) -> wrong++ :: else fi;
             PERSON_WAITED(a); notFiled(a); remember(G_NOT_FILED, a); printf("@ operator | attempt %d was not filed: %d\n", a, att[a])
          :: att[a] == A_SENDING && fst[f] == F_UNKNOWN && ANY(TAKEN_OF, a) ->
             recordAcceptance(a); printf("@ operator | attempt %d was filed\n", a)
          :: else -> ops++   /* nothing to answer */
          fi; a = 0
       :: else -> ops++
       fi;
       f = 0; ops--; SHOW }
  od
}

#if GHOSTS > 0
proctype Ghost() {
  byte a;
end:
  do
  :: atomic { ghost == G_OPEN_ATTEMPT -> a = ghostArg; openAttempt(a); printf("@ ghost | open attempt %d late: %d\n", a, att[a]);
       ghost = G_USED; ghostArg = 0; a = 0; SHOW }
  :: atomic { ghost == G_READ_ATTEMPT && WHOLE -> a = ghostArg; readAttempt(a); printf("@ ghost | read attempt %d late: %d\n", a, att[a]);
       ghost = G_USED; ghostArg = 0; a = 0; SHOW }
  :: atomic { ghost == G_NOT_FILED && WHOLE -> a = ghostArg; notFiled(a); printf("@ ghost | attempt %d was not filed, late: %d\n", a, att[a]);
       ghost = G_USED; ghostArg = 0; a = 0; SHOW }
  :: atomic { ghost == G_ABANDON && WHOLE -> a = ghostArg; abandonFiling(a); printf("@ ghost | abandon filing %d late\n", a);
       ghost = G_USED; ghostArg = 0; a = 0; SHOW }
  :: atomic { ghost == G_SETTLE && WHOLE -> a = ghostArg; settle(a); printf("@ ghost | settle attempt %d late\n", a);
       ghost = G_USED; ghostArg = 0; a = 0; SHOW }
  od
}
#endif

#if RESTORES > 0
#ifdef RESTORE_BOTH
#define PUT_BACK documentsRestored(); printf("@ operator | ledger and documents are put back to the copy\n")
#else
#define PUT_BACK printf("@ postgres | the ledger goes back to the copy\n")
#endif
proctype Postgres() {
end:
  do
  :: atomic { copied == 0 -> copyLedger(); copied = 1; printf("@ postgres | copy\n"); SHOW }
  :: atomic { copied == 1 -> putBack(); copied = 2; PUT_BACK; SHOW }
  :: atomic { GONE_BACK -> importFiles(); printf("@ operator | ledger restored: the files are imported\n"); SHOW }
  od
}
#endif

#define LIVE_WHILE_UNDER_WAY(a) (!(att[a] == A_OPEN || att[a] == A_SENDING) || LIVE(OF(a)))
#define MARKED_WHILE_TRAVELLING(e) (net[e] != N_TRAVELLING || file[xn[e]] == e + 1 && (att[xa[e]] == A_SENDING || att[xa[e]] == A_ACCEPTED || GONE_BACK))
#define FILED_IS_LIVE(e) (!FILED(e) || LIVE(OF(xa[e])) || GONE_BACK || wrong > 0)
#ifdef RESTORE_BOTH
#define FORGOTTEN (copied == 2)       /* ledger and files have forgotten together: only the certificates count */
#else
#define FORGOTTEN false
#endif
#define EACH(P) (COUNTX(P) == NE)

proctype Monitor() {
  atomic { CERTIFICATES > 1 + wrong -> printf("@ broken | more certificates than mappings\n"); assert(false) }
}
proctype Monitor2() {
  do
  :: atomic { !(LIVE_WHILE_UNDER_WAY(0) && LIVE_WHILE_UNDER_WAY(1) && LIVE_WHILE_UNDER_WAY(2) && LIVE_WHILE_UNDER_WAY(3)) ->
     printf("@ broken | an attempt is open or sending and its rows are not live\n"); assert(false) }
  :: atomic { !FORGOTTEN && !(EACH(MARKED_WHILE_TRAVELLING)) -> printf("@ broken | a request on the network whose attempt is not marked\n"); assert(false) }
  :: atomic { !FORGOTTEN && !(EACH(FILED_IS_LIVE)) -> printf("@ broken | filed, and its rows are not live\n"); assert(false) }
  od
}

init {
  atomic {
    i = 0; do :: i < NE -> run Execution(i); i++ :: else -> break od; i = 0;
    rp[0] = W_OPEN_FILING;
#if ATTEMPTS1 > 0
    rp[1] = W_OPEN_FILING;
#endif
    run Run(0); run Run(1); run World(); run Operator(); run Monitor(); run Monitor2();
#if GHOSTS > 0
    run Ghost();
#endif
#if RESTORES > 0
    run Postgres();
#endif
  }
}

#define UNSENT_AND_STOPPED (rp[0] == W_GONE && !(MAY_BE_SENT(0)))
#define OUT_OF_ATTEMPTS (rp[0] == W_CLOSED && !ENDED(0) || rp[0] == W_DISPATCH && ex[NE - 1] != X_FREE)
#define ENDS_OR_ASKS (ENDED(0) || fst[0] == F_UNKNOWN || UNSENT_AND_STOPPED || OUT_OF_ATTEMPTS)
#ifdef LIVENESS
ltl ends_or_asks { [] <> ENDS_OR_ASKS }
#endif
